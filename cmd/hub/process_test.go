package main_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// A command in this process prints and returns what one of its own does: tests may run
// either. Its directory, its environment and its streams are the test's.
func TestProcessesAndCallsAnswerAlike(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t).withEnv("HUB_URL", s.url).withEnv("HUB_TOKEN", s.token)
	c.writeFile("token", s.token+"\n")
	c.writeFile("data.json", `{"n":`)
	broken := newCLI(t)
	broken.writeFile("config/hub/credentials.json", "{")
	foreign := newCLI(t)
	foreign.writeFile("data/local.json", `{"url":"http://198.51.100.1"}`)
	for _, test := range []struct {
		cli   *cli
		code  int
		stdin string
		args  []string
	}{
		{c, 0, "", []string{"products", "list", "-o", "json"}},
		{c, 0, "", []string{"products", "list", "--token", "@token"}},
		{c, 0, s.token, []string{"products", "list", "--token", "-"}},
		{c, 0, "", []string{"products", "--help"}},
		{c, 0, "", []string{"__complete", "keys", ""}},
		{c, 1, "", []string{"products", "list", "--url", "http://127.0.0.1:1"}},
		{c, 2, "", []string{"products", "list", "--nonsense"}},
		{c, 2, "", []string{"products", "list", "--url", "nonsense"}},
		{c.withEnv("HUB_KEY", "k"), 2, "", []string{"publish", "--type", "a.b", "--data", "@data.json"}},
		{c.withEnv("HUB_KEY", "k"), 2, "{", []string{"publish", "--type", "a.b", "--data", "-"}},
		{broken, 3, "", []string{"whoami"}},
		{foreign, 3, "", []string{"whoami"}},
		{newCLI(t), 4, "", []string{"whoami"}},
		{c, 4, "", []string{"products", "list", "--token", "wrong"}},
		{c, 5, "", []string{"events", "show", "evt_0000000000000000"}},
	} {
		process, call := test.cli.runProcess(test.stdin, test.args...), test.cli.runHere(test.stdin, test.args...)
		require.Equal(t, test.code, process.code, "%v: %s", test.args, process.stderr)
		require.Equal(t, process.code, call.code, "%v: %s", test.args, call.stderr)
		require.Equal(t, process.stdout, call.stdout, "%v", test.args)
		require.Equal(t, withoutRequest(process.stderr), withoutRequest(call.stderr), "%v", test.args)
	}
}

// requestID matches how an error names the request.
var requestID = regexp.MustCompile(`request [^\s)]+`)

// withoutRequest removes the ids of requests, which differ.
func withoutRequest(text string) string { return requestID.ReplaceAllString(text, "request ID") }
