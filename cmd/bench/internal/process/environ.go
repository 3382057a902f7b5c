package process

import "strings"

// WithoutHubSettings removes settings of the hub from an environment, so that
// the developer's own do not reach the measured process.
func WithoutHubSettings(environ []string) []string {
	var kept []string
	for _, setting := range environ {
		if !strings.HasPrefix(setting, "HUB_") {
			kept = append(kept, setting)
		}
	}
	return kept
}
