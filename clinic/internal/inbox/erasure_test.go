package inbox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// Who is forgotten is found by an address in an entry without opening any other's.
func TestForgettingByAddress(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinic(t)
	m := p.ConnectPeer("messaging")
	forget := func(email string, n int) (statusOf func() int) {
		id := p.OK(201, "POST", "/patients", object{"name": "Ana", "email": email})["id"].(string)
		m.Send("ignored", "contact.created", object{"phone": fmt.Sprintf("+552195555%04d", n), "name": "Somebody", "email": " " + strings.ToUpper(email)})
		return func() int { return p.Call("POST", "/patients/"+id+"/deletion-request", nil).Status }
	}
	m.Send("ignored", "contact.created", object{"phone": stranger, "name": "Another", "email": "another@example.com"})
	m.Send("ignored", "contact.created", object{"phone": "+5521944445555", "name": "Without"})
	p.Exec(`update clinic.inbox set data_enc = 'broken' where clinic_id = $1`)
	first, second, third := forget("ana@example.com", 1), forget("bia@example.com", 2), forget("eva@example.com", 3)
	names := func() (n int) {
		return p.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and name = 'Somebody'`)
	}
	require.Equal(t, 202, first())
	require.Equal(t, 2, names())

	// One from before there were hashes is opened, as everybody's of then; and not any
	// more once upkeep has made up for them.
	p.Exec(`update clinic.inbox set email_hmac = null where clinic_id = $1 and name = 'Somebody'`)
	require.Equal(t, 202, second())
	require.Equal(t, 1, names())
	require.Equal(t, 1, p.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and email_hmac is null`))
	require.NoError(t, p.Job("inbox").Run(t.Context(), nil))
	require.Zero(t, p.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and email_hmac is null`))
	require.Equal(t, 202, third())
	require.Zero(t, names())
	p.Exec(`update clinic.inbox set email_hmac = null where clinic_id = $1`)
	require.ErrorContains(t, p.Job("inbox").Run(t.Context(), nil), "2 inbox entries cannot be opened")
}
