package inbox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// The entries with an erased patient's address are found without decrypting any others.
func TestErasureOfEntriesByEmail(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging := clinic.ConnectPeer("messaging")
	forget := func(email string, n int) (statusOf func() int) {
		id := clinic.OK(201, "POST", "/patients", object{"name": "Ana", "email": email})["id"].(string)
		messaging.Send("ignored", "contact.created", object{"phone": fmt.Sprintf("+552195555%04d", n), "name": "Somebody", "email": " " + strings.ToUpper(email)})
		return func() int { return clinic.Call("POST", "/patients/"+id+"/deletion-request", nil).Status }
	}
	messaging.Send("ignored", "contact.created", object{"phone": stranger, "name": "Another", "email": "another@example.com"})
	messaging.Send("ignored", "contact.created", object{"phone": "+5521944445555", "name": "Without"})
	clinic.Exec(`update clinic.inbox set data_enc = 'broken' where clinic_id = $1`)
	first, second, third := forget("ana@example.com", 1), forget("bia@example.com", 2), forget("eva@example.com", 3)
	names := func() (n int) {
		return clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and name = 'Somebody'`)
	}
	require.Equal(t, 202, first())
	require.Equal(t, 2, names())

	// An entry from before there were hashes is opened, as all of then; and not any
	// more once upkeep has made up for them.
	clinic.Exec(`update clinic.inbox set email_hmac = null where clinic_id = $1 and name = 'Somebody'`)
	require.Equal(t, 202, second())
	require.Equal(t, 1, names())
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and email_hmac is null`))
	require.NoError(t, clinic.Job("inbox").Run(t.Context(), nil))
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and email_hmac is null`))
	require.Equal(t, 202, third())
	require.Zero(t, names())
	clinic.Exec(`update clinic.inbox set email_hmac = null where clinic_id = $1`)
	require.ErrorContains(t, clinic.Job("inbox").Run(t.Context(), nil), "2 inbox entries cannot be opened")
}

// What cannot be decrypted any more stops no erasure: an entry counts by what of it is readable.
func TestErasureGoesOnWithUnreadableData(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging := clinic.ConnectPeer("messaging")
	messaging.Send("ignored", "contact.created", object{"phone": stranger, "name": "Another"})
	messaging.Send("ignored", "message.received", object{"phone": "+5511977776666", "name": "Zuleica", "body": "Hi", "ticket_id": 2})
	messaging.Send("ignored", "contact.created", object{"phone": "+5521944445555", "name": "Zuleica", "email": "zuleica@example.com"})
	id := clinic.OK(201, "POST", "/patients", object{"name": "Zuleica", "phone": "+5511977775555", "email": "old@example.com"})["id"].(string)
	clinic.OK(200, "PUT", "/patients/"+id, object{"phone": "+5511977776666", "email": "zuleica@example.com"})
	clinic.Exec(`update clinic.inbox set data_enc = 'broken' where clinic_id = $1`)
	clinic.Exec(`update clinic.inbox set email_hmac = null where clinic_id = $1 and name = 'Another'`)
	clinic.Exec(`update clinic.earlier_contacts set value_enc = 'broken' where clinic_id = $1 and kind = 'email'`)
	request := clinic.OK(202, "POST", "/patients/"+id+"/deletion-request", nil)
	require.Equal(t, "anonymized", clinic.Get("/patients/" + id)["status"])
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.earlier_contacts where clinic_id = $1`))
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1`), "an unreadable entry of someone else")
	clinic.WaitForDeletion("/deletion-requests/"+request["id"].(string), "completed")
	deleted := messaging.Received("patient.deleted")
	require.Len(t, deleted, 1)
	require.Equal(t, []any{"+5511977775555"}, deleted[0].Data["phones"], "what can be read")
	require.Contains(t, clinic.Hub.Log(), "an earlier contact cannot be read; its patient is erased without it")
}
