package scheduling_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/openapitest"
)

// Whoever copies a command from the reference page is answered by the operation that it
// stands at: nothing is wrong with the command's form, whatever ids are in it.
func TestCommandsOfTheReference(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.ok(200, "POST", "/integrations/api-keys", object{})["api_key"].(string)
	reader := openapitest.CommandRunner{Token: s.token, Key: key}
	commands := openapitest.LoadCommands(t, s.hub.Base)
	require.Len(t, commands, len(operations(s)))
	delete(commands, "integrations.connect") // it would call out
	var wrong []string
	for id, command := range commands {
		status, body := reader.RunCommand(t, command)
		bad := slices.Contains([]string{"405", "413", "415"}, status) || status >= "500"
		bad = bad || status == "404" && strings.Contains(body, "There is nothing here.")
		bad = bad || slices.Contains([]string{"services.create", "clients.create", "professionals.create", "users.create"}, id) && !strings.HasPrefix(status, "20")
		if bad {
			wrong = append(wrong, id+"\n"+command+"\n"+status+" "+body)
		}
	}
	require.Empty(t, wrong, "%s", strings.Join(wrong, "\n\n"))
}
