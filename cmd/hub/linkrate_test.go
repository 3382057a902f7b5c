package main_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// The example of HUB_LINK_RATE in docs/handshake.md prints what it says: the rate of the keys of
// the link, and that of a key that a person issued.
func TestLinkRateExample(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	env := serverEnv(c.dir, databaseURL(t), hubtest.RedisURL(t))
	env["HUB_LINK_RATE"] = "1200"
	s := c.serve(env)
	c = c.withEnv("HUB_DATA_DIR", s.dataDir)
	shown := regexp.MustCompile("(?s)The last two commands print:\n\n```text\n(.*?)```").FindStringSubmatch(read(t, "docs/handshake.md"))
	require.NotNil(t, shown)

	show := "# The clinic's keys"
	printed := c.withEnv("HUB_URL", s.url).runExampleUnder("### An example of a rate", "docs/handshake.md",
		show, "until hub deliveries list --direction outbound | grep -q delivered; do sleep 0.1; done; echo ===\n"+show) // people are slower
	require.Regexp(t, `(?s)scheduling +Studio Lua +clinic .*clinic +Clinica Lua +scheduling .*===\n`+regexp.QuoteMeta(shown[1])+`$`, printed)
}
