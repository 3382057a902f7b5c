package clinic_test

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
	p := newPractice(t)
	p.ok(200, "PUT", "/clinic", object{"reveal_cpf": true})
	reader := openapitest.CommandRunner{Token: p.token, Key: p.key().token, File: "nome;telefone\nAna;11 98765-4321\n"}
	commands := openapitest.LoadCommands(t, p.hub.Base)
	for _, op := range p.operations() {
		require.Contains(t, commands, op.id)
	}
	delete(commands, "integrations.connect") // it would call out
	var wrong []string
	for id, command := range commands {
		status, body := reader.RunCommand(t, command)
		bad := slices.Contains([]string{"400", "405", "413", "415", "422"}, status) && id != "auth.reset-password" || status >= "500"
		bad = bad || status == "404" && strings.Contains(body, "There is nothing here.")
		bad = bad || slices.Contains([]string{"patients.create", "professionals.create", "users.create", "imports.create"}, id) && !strings.HasPrefix(status, "20")
		if bad {
			wrong = append(wrong, id+"\n"+command+"\n"+status+" "+body)
		}
	}
	require.Empty(t, wrong, "%s", strings.Join(wrong, "\n\n"))
}
