package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

func TestClinicSettings(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	require.Equal(t, "America/Sao_Paulo", clinic.Get("/clinic")["timezone"])
	require.Equal(t, false, clinic.Get("/clinic")["reveal_cpf"])
	updated := clinic.OK(200, "PUT", "/clinic", object{"name": "Clínica Lua", "timezone": "America/Manaus", "reveal_cpf": true})
	require.Equal(t, updated, clinic.Get("/clinic"))
	status := clinic.NewKey().Get("/integrations/status")
	require.Equal(t, "Clínica Lua", status["clinic_name"])
	require.Equal(t, clinic.ID.String(), status["clinic_id"])
	require.Equal(t, "clinic", status["product"])
	require.Equal(t, []any{"patient.search", "patient.read", "record.read", "appointment.read", "payment.read", "message.send"}, status["features"])
	clinic.Invalid("body.timezone", "PUT", "/clinic", object{"timezone": "Mars"})
	clinic.AddStaff().Refused(403, "admin_only", "PUT", "/clinic", object{"name": "X"})
	require.Equal(t, "Clínica Lua", clinic.Get("/clinic")["name"])
}
