package schedulingtest

import (
	"regexp"
	"strings"
)

// PathParameter matches a parameter of an operation's path.
var PathParameter = regexp.MustCompile(`\{([A-Za-z]+)\}`)

// ResourceKind is what an operation's path names by {id}.
func ResourceKind(path string) string {
	for part, kind := range map[string]string{
		"/api/v1/services/": "service", "/api/v1/professionals/": "professional", "/schedule-rules/copy": "professional",
		"/schedule-rules/{": "rule", "/schedule-exceptions/": "exception", "/api/v1/appointments/": "appointment",
		"/clients/{": "client", "/users/": "user", "/api-keys/": "key", "/integrations/{": "integration", "/webhook-logs/{": "delivery", "/calendar/{": "professional", "/payments/{id}": "payment",
	} {
		if strings.Contains(path, part) {
			return kind
		}
	}
	return ""
}
