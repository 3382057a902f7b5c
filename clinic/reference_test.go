package clinic_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest/openapitest"
)

// Whoever copies a command from the reference page is answered by the operation that it
// stands at: nothing is wrong with the command's form, whatever ids are in it.
func TestCommandsOfTheReference(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	clinic.OK(200, "PUT", "/clinic", object{"reveal_cpf": true})
	reader := openapitest.CommandRunner{Token: clinic.Token, Key: clinic.NewKey().Token, File: "nome;telefone\nAna;11 98765-4321\n"}
	commands := openapitest.LoadCommands(t, clinic.Hub.Base)
	for _, op := range clinic.OwnOperations() {
		require.Contains(t, commands, op.ID)
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
