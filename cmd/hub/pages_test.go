package main_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The examples of the pages do not disturb each other: pasted on one hub, page after page in the
// order in which they are read, each does what it says.
func TestPagesFollowEachOther(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	examples := map[string]struct {
		heading string
		changes []string // people are slower
		shows   string   // a regular expression; "" = anything
	}{
		"publishing.md":  {"## An example", nil, `202`},
		"event-types.md": {"## An example", nil, "\nrefused\n"},
		"filters.md": {"## An example", []string{
			"sleep 2\n", "until hub endpoints show \"$ENDPOINT\" | grep -q 'no such member'; do sleep 0.1; done\n"}, `filter errors +1,`},
		"order.md": {"## An example", []string{
			"# The first is parked", "until [ -n \"$(hub deliveries list --tenant Hazel --status parked -q)\" ]; do sleep 0.1; done\n# The first is parked"}, `reason +discarded`},
		"priorities.md": {"## Priorities", []string{"http://127.0.0.1:9000", newReceiver(t, 200, "").URL,
			"LAST=", "until [ -n \"$(hub deliveries list --tenant Pine --type order.paid --status pending -q)\" ]; do sleep 0.1; done\nLAST="}, `(?m)^priority +bulk$`},
		"receivers.md": {"## An example", nil, `X-Tenant: \*\*\*`},
		"alerts.md": {"## An example", []string{
			"sleep 3\n", "until hub mail --to ops@example.com | grep -q parked; do sleep 0.1; done\n"}, `was parked \(disabled\)`},
		"handshake.md": {"### An example of a rate", []string{
			"# The clinic's keys", "until hub deliveries list --tenant 'Clinica Lua' --direction outbound | grep -q delivered; do sleep 0.1; done\n# The clinic's keys"}, `Ratelimit-Limit: \d+`},
		"keys.md":    {"## An example", nil, `"event_type":"order.paid"`},
		"tokens.md":  {"## An example", nil, `sign-up back end +keys\.create`},
		"tenants.md": {"## An example", nil, `exit code 4`},
	}
	// The README comes first.
	c.ok("products", "create", "crm", "--prefix", "crm")
	c.ok("tenants", "create", "Acme", "--product", "crm")
	c.withEnv("HUB_KEY", strings.TrimSpace(c.ok("keys", "create", "--tenant", "Acme", "-q"))).ok("publish", "--type", "contact.created", "--data", `{"name":"Ana"}`)

	var ran []string
	for _, link := range regexp.MustCompile(`\]\(([a-z-]+\.md)\)`).FindAllStringSubmatch(read(t, "docs/README.md"), -1) {
		page := link[1]
		example, known := examples[page]
		switch {
		case slices.Contains(ran, page):
			continue
		case !known:
			require.NotContains(t, read(t, "docs/"+page), "\nhub tenants create", "%s has an example to try here", page)
			continue
		}
		reader := newCLI(t).withEnv("HUB_DATA_DIR", s.dataDir).withEnv("HUB_URL", s.url)
		printed := reader.runExampleUnder(example.heading, "docs/"+page, example.changes...)
		require.Regexp(t, example.shows, printed, page)
		ran = append(ran, page)
	}
	require.Len(t, ran, len(examples), "docs/README.md links to all of them")
}
