package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The example of docs/alerts.md does what it says: of two deliveries that are parked the first
// is one operational event, and one mail besides the test.
func TestAlertExample(t *testing.T) {
	t.Parallel()
	_, c := ownHub(t)
	_, after, found := strings.Cut(c.runExample("docs/alerts.md",
		"sleep 3\n", "until hub mail --to ops@example.com | grep -q parked && [ \"$(hub deliveries list --status parked -q | wc -l)\" = 2 ]; do sleep 0.1; done\necho ===\n"), "===\n")
	require.True(t, found)
	require.Equal(t, 1, strings.Count(after, "was parked (disabled)"), after)
	require.Contains(t, after, "Test of an alert")
	require.Regexp(t, `email +ops@example\.com +hub\.\* +product crm +active`, after)
}

// Alerts are made, listed, shown, changed, tested and deleted, and get new secrets.
func TestAlerts(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t).withEnv("HUB_DATA_DIR", s.dataDir)
	made := c.run("alerts", "create", "https://example.com/alerts", "--events", "hub.endpoint.*,hub.key.expiring", "--disabled")
	require.Contains(t, made.stderr, "the secret is shown this once")
	require.Regexp(t, `secret +whsec_`, made.requireOK())
	id := ""
	for line := range strings.Lines(c.run("alerts", "list", "--all").requireOK()) {
		if strings.Contains(line, "https://example.com/alerts") {
			require.Regexp(t, `webhook +https://example.com/alerts +hub.endpoint.\*,hub.key.expiring +all +disabled`, line)
			id, _, _ = strings.Cut(line, " ")
		}
	}
	require.NotEmpty(t, id)
	c.run("alerts", "test", id).requireFails(1, "alert_disabled")
	c.run("alerts", "update", id).requireFails(2, "nothing to change")
	changed := c.run("alerts", "update", id, "--enabled", "--events", "hub.*").requireOK()
	require.Regexp(t, `events +hub\.\*\n`, changed)
	require.Regexp(t, `target +https://example.com/alerts`, changed, "what is not given stays")
	require.Regexp(t, `status +active`, c.run("alerts", "show", id).requireOK())
	require.Regexp(t, `^evt_`, c.run("alerts", "test", id, "-q").requireOK())
	require.NotContains(t, c.run("alerts", "show", id, "--json").requireOK(), "whsec_")
	rotated := c.run("alerts", "rotate-secret", id, "--overlap", "0s")
	require.Contains(t, rotated.stderr, "the secret is shown this once")
	require.Regexp(t, `secret +whsec_`, rotated.requireOK())
	require.NotContains(t, made.stdout, strings.Fields(rotated.stdout)[1])
	require.Regexp(t, `^whsec_\S+$`, c.run("alerts", "rotate-secret", id, "-q").requireOK())
	c.run("alerts", "rotate-secret", id, "--overlap", "8d").requireFails(1, "body.overlap_seconds")
	c.run("alerts", "rotate-secret", id, "--overlap", "soon").requireFails(2)
	require.Contains(t, c.run("alerts", "delete", id).stderr, "deleted "+id)
	c.run("alerts", "show", id).requireFails(5)
	c.run("alerts", "create", "nobody").requireFails(1, "body.target")
	c.run("alerts", "create", "ops@example.com", "--events", "order.*").requireFails(1, "body.events[0]")
	c.run("alerts", "create").requireFails(2)
}
