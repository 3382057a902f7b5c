package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The example of docs/keys.md does what it says.
func TestKeyExample(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	printed := c.withEnv("HUB_URL", s.url).runExample("docs/keys.md")
	require.Regexp(t, `(?s)"missing_scope".*"event_type":"order\.paid".*\{"count":1\}`, printed)
	require.Contains(t, printed, "This key lacks the scope deliveries.read; issue a key that has it.")
}

// Keys get the scopes of the log where they are named only.
func TestKeyScopes(t *testing.T) {
	t.Parallel()
	p := newTenant(t)
	made := struct{ Scopes []string }{}
	p.run("keys", "create", "--tenant", p.tenant, "--scope", "deliveries.read,deliveries.retry", "-o", "json").decode(&made)
	require.Equal(t, []string{"deliveries.read", "deliveries.retry"}, made.Scopes)
	p.run("keys", "create", "--tenant", p.tenant, "-o", "json").decode(&made)
	require.Equal(t, []string{"events.publish", "endpoints.manage", "interaction.write"}, made.Scopes)
	p.run("keys", "create", "--tenant", p.tenant, "--scope", "deliveries.everything").requireFails(1, "deliveries.read, deliveries.retry")
}
