package connectortest

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// What names in a Spec look like.
var (
	productName = regexp.MustCompile(`^[a-z][a-z0-9-]{1,39}$`)
	fieldKey    = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	eventType   = regexp.MustCompile(`^(\*|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?)$`)
	callName    = regexp.MustCompile(`^(search|action)/(\*|[a-z0-9-]+)$`)
)

// checkSpec checks the Spec of a connector.
func checkSpec(t *testing.T, c Case) {
	s := c.Connector.Spec()
	require.Regexp(t, productName, s.Name)
	require.NotEmpty(t, s.Title)
	require.GreaterOrEqual(t, s.RatePerMinute, 0)
	require.Equal(t, s.Name, c.Connection.Product, "the case's connection is to another product")

	keys := make(map[string]bool)
	for _, field := range s.Fields {
		require.Regexp(t, fieldKey, field.Key)
		require.False(t, keys[field.Key], "field %s occurs twice", field.Key)
		keys[field.Key] = true
		require.NotEmpty(t, field.Label, field.Key)
		if field.Key == hub.FieldKey || field.Key == hub.FieldSecret {
			require.True(t, field.Secret, field.Key)
		}
		if field.Key == hub.FieldURL {
			require.False(t, field.Secret, "an address is shown")
		}
	}
	require.True(t, keys[hub.FieldURL], "there is no peer without an address")
	for key := range c.Connection.Config {
		require.True(t, keys[key], "Config has %s, which no field asks for", key)
	}

	require.NotEmpty(t, append(slices.Clone(s.Receives), s.Sends...), "neither receives nor sends")
	requireList(t, s.Receives, eventType)
	requireList(t, s.Sends, eventType)
	requireList(t, s.Calls, callName)
	_, isCaller := c.Connector.(hub.PeerCaller)
	require.Equal(t, isCaller, len(s.Calls) > 0, "Calls are what a PeerCaller makes")

	for _, pattern := range s.Sends {
		require.True(t, slices.ContainsFunc(c.Events, func(e hub.Event) bool { return hub.MatchesEventType([]string{pattern}, e.Type) }),
			"the case has no event for %s", pattern)
	}
	for _, e := range c.Events {
		require.True(t, hub.MatchesEventType(s.Sends, e.Type), "%s is not sent", e.Type)
	}

	// Callers may change the Spec that they get.
	for i := range s.Fields {
		s.Fields[i].Key = "changed"
	}
	for _, list := range [][]string{s.Receives, s.Sends, s.Calls} {
		for i := range list {
			list[i] = "changed"
		}
	}
	second := c.Connector.Spec()
	for _, field := range second.Fields {
		require.NotEqual(t, "changed", field.Key, "Spec returns its own list")
	}
	for _, list := range [][]string{second.Receives, second.Sends, second.Calls} {
		require.NotContains(t, list, "changed", "Spec returns its own list")
	}
}

// requireList requires names of a form, none twice.
func requireList(t *testing.T, list []string, form *regexp.Regexp) {
	t.Helper()
	for i, name := range list {
		require.Regexp(t, form, name)
		require.NotContains(t, list[:i], name, "%s occurs twice", name)
	}
}
