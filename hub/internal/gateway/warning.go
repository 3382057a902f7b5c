package gateway

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"integrationhub/hub/internal/outbox"
)

// headerWarning says that events were accepted although their data does not agree with the
// schemas of their types.
const headerWarning = "X-Validation-Warning"

// maxWarning bounds the header, in bytes.
const maxWarning = 1_000

// setWarning sets the header if some of the accepted publications do not agree with their
// schemas.
func setWarning(c *fiber.Ctx, publications []*outbox.Publication) {
	var warning strings.Builder
	for _, p := range publications {
		for _, violation := range p.Violations {
			if warning.Len() > maxWarning {
				break
			}
			if warning.Len() > 0 {
				warning.WriteString("; ")
			}
			warning.WriteString(p.Location + ".data" + violation.Path + " " + violation.Message)
		}
	}
	if warning.Len() > 0 {
		c.Response().Header.Set(headerWarning, printable(warning.String()))
	}
}

// printable returns a header's value: printable ASCII, shortened.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	if len(text) > maxWarning {
		return text[:maxWarning-3] + "..."
	}
	return text
}
