package process

import "strings"

// WithoutHubSettings returns an environment without the hub's settings: a
// developer's own must not reach the measured process.
func WithoutHubSettings(environ []string) []string {
	var kept []string
	for _, setting := range environ {
		if !strings.HasPrefix(setting, "HUB_") {
			kept = append(kept, setting)
		}
	}
	return kept
}
