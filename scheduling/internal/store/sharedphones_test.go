package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

// A company's number is that of many clients. A booking and an erasure find the client with
// the name also among the newest of them.
func TestPhoneOfManyClients(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.Exec(`
		insert into scheduling.clients (org_id, id, name, phone, phone_e164, email, created_at)
		select $1, gen_random_uuid(), 'Client ' || n, '+5511955556666', '+5511955556666', 'client' || n || '@example.com', now() + n * interval '1 second' from generate_series(1, 60) n`, org.ID)
	newest := func() (id string) {
		require.NoError(t, org.Hub.Host.Pool.QueryRow(t.Context(), `select id::text from scheduling.clients where org_id = $1 and name = 'Client 60'`, org.ID).Scan(&id))
		return id
	}()
	booking := org.BookingBody(0)
	booking["client_name"], booking["client_phone"], booking["client_email"] = "client 60", "+5511955556666", "client60@example.com"
	org.Guest().OK(201, "POST", org.PublicPath("/appointments"), booking)
	require.Equal(t, 1, org.Count("scheduling.appointments where client_id = $1", newest))
	created := org.OK(201, "POST", "/clients", object{"name": "Client 61", "phone": "+5511955556666"})
	require.Len(t, created["possible_duplicate_ids"], 50)

	require.NoError(t, org.ReceiveEvent("evt_5123456789abcdef", "patient.deleted", object{"phone": "+5511955556666", "name": "Client 60", "phone_shared": true}))
	org.RequireErased(map[string]bool{newest: true})
	require.ErrorIs(t, org.ReceiveEvent("evt_6123456789abcdef", "patient.deleted", object{"phone": "+5511955556666", "name": "Rui", "phone_shared": true}), module.ErrIgnored)
}
