package api_test

import (
	"maps"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

// Who was blocked does not get around that through a connected product.
func TestConnectedProductsCannotBookForBlockedClients(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableBesidePeer(t)
	org.OK(200, "PUT", "/clients/"+org.ClientID, object{"is_blocked": true})
	request := object{"phone": "+5511987654321", "name": "Caio", "service": "Cut", "start_at": org.At(0)}
	require.NotContains(t, org.Refused(403, "booking_refused", "POST", "/integrations/action/book", request)["detail"], "Caio")
	org.OK(200, "PUT", "/clients/"+org.ClientID, object{"is_blocked": false})
	org.OK(201, "POST", "/integrations/action/book", request)
}

// Of the keys of a connection nobody sees more than four characters.
func TestKeysOfConnectionsAreMasked(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableBesidePeer(t)
	id := org.LinkPeer()
	got := org.OK(200, "GET", "/integrations/status", nil)["integrations"].([]any)
	require.Len(t, got, 1)
	var local, remote string
	require.NoError(t, org.Hub.Host.Pool.QueryRow(t.Context(), `select k.last4, i.remote_last4 from hub.integrations i join hub.keys k on k.integration_id = i.id
		where i.id = $1 and k.revoked_at is null`, id).Scan(&local, &remote))
	require.Len(t, local, 4)
	require.Len(t, remote, 4)
	require.Equal(t, local+"****", got[0].(object)["api_key_local"])
	require.Equal(t, remote+"****", got[0].(object)["api_key_remote"])
}

func TestIntegrations(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	key := org.As(org.Hub.CreateKey(org.ID, hub.Live, "client.search", "appointment.read", "appointment.book", "availability.read"))
	const base = "/integrations"
	phone := url.QueryEscape("+551187654321") // without the ninth digit
	org.OK(200, "PUT", "/clients/"+org.ClientID, object{"cpf": "529.982.247-25"})
	found := key.OK(200, "GET", base+"/search/clients?phone="+phone, nil)
	require.Equal(t, true, found["found"])
	require.Equal(t, "Caio", found["client"].(object)["name"])
	require.Equal(t, "***.***.***-25", found["client"].(object)["cpf"])
	require.Equal(t, object{"found": false, "client": nil}, org.OK(200, "GET", base+"/search/clients?phone=11900000000", nil))
	key.Refused(422, "validation_failed", "GET", base+"/search/clients?phone=12", nil)

	id := org.Book(0)
	listed := key.OK(200, "GET", base+"/search/appointments?phone="+phone+"&status=scheduled", nil)["appointments"].([]any)
	require.Len(t, listed, 1)
	require.Equal(t, id, listed[0].(object)["id"])
	require.Equal(t, "2026-03-02T12:00:00Z", listed[0].(object)["datetime"])
	require.Len(t, schedulingtest.SlotTimesOf((&schedulingtest.Bookable{Organization: key, ServiceID: org.ServiceID, ProfessionalID: org.ProfessionalID}).Availability("&date=2026-03-02")), 5)

	request := object{"phone": "+5511987654321", "name": "Other", "service": "Cut", "datetime": org.At(time.Hour), "source_id": "t-1"}
	created := key.OK(201, "POST", base+"/action/book", request)
	require.Equal(t, "Ana", created["professional"])
	require.True(t, strings.HasPrefix(created["cancel_url"].(string), org.Hub.URL+"/book/"))
	require.Equal(t, created, key.OK(201, "POST", base+"/action/book", request), "the same source_id books once")
	detail := org.OK(200, "GET", "/appointments/"+created["appointment_id"].(string), nil)
	require.Equal(t, "integration", detail["source"])
	require.Equal(t, org.ClientID, detail["client_id"])
	request["source_id"] = "t-2"
	require.NotEmpty(t, key.Refused(409, "slot_unavailable", "POST", base+"/action/book", request)["alternatives"])
	org.OK(201, "POST", base+"/action/book", object{"phone": "+5511987654321", "service_id": org.ServiceID, "start_at": org.At(2 * time.Hour)})
	for location, change := range map[string]object{
		"body.service": {"service": "Nothing"}, "body.phone": {"phone": "1"}, "body.datetime": {"datetime": "soon"},
	} {
		draft := object{"phone": "+5511987654321", "service": "Cut", "datetime": org.At(0)}
		for name, value := range change {
			draft[name] = value
		}
		key.Invalid(location, "POST", base+"/action/book", draft)
	}
	org.As(org.Hub.CreateKey(org.ID, hub.Live, "client.search")).Refused(403, "missing_scope", "POST", base+"/action/book", request)
	org.As(org.Hub.CreateKey(org.ID, hub.Test)).Refused(404, "not_found", "GET", base+"/search/clients?phone="+phone, nil)
	org.As("").Refused(401, "unauthorized", "GET", base+"/search/clients?phone="+phone, nil)

	matches, err := org.Hub.Instance.(module.PhoneSearcher).SearchPhone(t.Context(), "+5511987654321")
	require.NoError(t, err)
	found2 := false
	for _, m := range matches {
		found2 = found2 || m.TenantID == org.ID && m.ID == org.ClientID
	}
	require.True(t, found2)
}

// Repeats of one source_id at the same moment all get the one booking.
func TestConcurrentRepeatsOfASourceID(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	key := org.As(org.Hub.CreateKey(org.ID, hub.Live, "appointment.book"))
	for round := range 3 {
		request := object{"phone": "+5511987654321", "service": "Cut", "professional_id": org.ProfessionalID, "start_at": org.At(time.Duration(round) * time.Hour), "source_id": "t-" + strconv.Itoa(round)}
		ids := make(map[any]bool)
		for _, response := range moduletest.Concurrently(moduletest.Repeat(8, func() moduletest.Response {
			response, _ := key.Try("POST", "/integrations/action/book", request)
			return response
		})...) {
			require.Equal(t, 201, response.Status, response.Text)
			ids[response.Body["appointment_id"]] = true
		}
		require.Len(t, ids, 1)
	}
	require.Len(t, org.List("/appointments"), 3)
}

// A source_id names one booking: a repeat gets it whatever became of it, another booking does not.
func TestASourceIDNamesOneBooking(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	key := org.As(org.Hub.CreateKey(org.ID, hub.Live, "appointment.book"))
	const path = "/integrations/action/book"
	request := object{"phone": "+5511987654321", "service": "Cut", "professional_id": org.ProfessionalID, "start_at": org.At(0), "source_id": "t-1"}
	changed := func(changes object) object {
		copied := maps.Clone(request)
		maps.Copy(copied, changes)
		return copied
	}
	booked := key.OK(201, "POST", path, request)
	id := booked["appointment_id"].(string)
	wash := org.OK(201, "POST", "/services", object{"name": "Wash", "duration_minutes": 30, "price": 12})["id"].(string)
	others := []object{{"start_at": org.At(time.Hour)}, {"service": "Wash"}, {"service_id": wash}, {"professional_id": org.AddProfessional("Bia", org.ServiceID)}, {"professional_id": nil}, {"phone": "+5511911112222"}}
	same := []object{{}, {"name": "Caio C."}, {"email": "caio@example.com"}, {"notes": "Late"}, {"phone": "11 8765-4321"}, {"service_id": org.ServiceID}}
	for _, prepare := range []func(){
		func() {},
		func() {
			org.OK(200, "POST", "/appointments/"+id+"/reschedule", object{"start_at": org.At(2 * time.Hour)})
		},
		func() { org.Transition(200, "cancel", id, object{}) },
	} {
		prepare()
		for _, changes := range same {
			require.Equal(t, id, key.OK(201, "POST", path, changed(changes))["appointment_id"], changes)
		}
		for _, changes := range others {
			refused := key.Refused(409, "idempotency_key_reused", "POST", path, changed(changes))
			require.Contains(t, refused["detail"], "Send a new source_id")
			require.NotContains(t, refused, "cancel_url")
		}
	}
	require.Len(t, org.List("/appointments"), 1)
	org.Exec(`update scheduling.appointments set source_hash = null where id = $1`, id) // booked before hashes were stored
	require.Equal(t, id, key.OK(201, "POST", path, changed(object{"start_at": org.At(time.Hour)}))["appointment_id"])

	second := key.OK(201, "POST", path, changed(object{"source_id": "t-2"}))["appointment_id"].(string)
	require.Equal(t, 1, org.Count("scheduling.appointments where id = $1 and source_hash is not null", second))
	require.Equal(t, 204, org.Call("DELETE", "/clients/"+org.ClientID, nil).Status)
	require.Zero(t, org.Count("scheduling.appointments where id = $1 and source_hash is not null", second), "the hash has the phone number in it")
}

// An id that a product made of the client's phone number is gone after an erasure. A repeat
// of the request still gets the booking: it must not bring the client back.
func TestASourceIDAfterAnErasure(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	key := org.As(org.Hub.CreateKey(org.ID, hub.Live, "appointment.book"))
	const path = "/integrations/action/book"
	request := object{"phone": "+5511987654321", "service": "Cut", "start_at": org.At(0), "source_id": "5511987654321"}
	id := key.OK(201, "POST", path, request)["appointment_id"]
	require.Equal(t, 204, org.Call("DELETE", "/clients/"+org.ClientID, nil).Status)
	require.Zero(t, org.Count("scheduling.appointments where org_id = $1 and source_id like '%5511987654321%'", org.ID))
	for range 2 {
		require.Equal(t, id, key.OK(201, "POST", path, request)["appointment_id"])
	}
	require.Zero(t, org.Count("scheduling.clients where org_id = $1 and anonymized_at is null", org.ID))
	require.NotEqual(t, id, key.OK(201, "POST", path, object{"phone": "+5511987654321", "name": "Caio", "service": "Cut", "start_at": org.At(time.Hour), "source_id": "2"})["appointment_id"])
}

// Clients of all organizations are found by e-mail address in any case, and by the end of
// their CPF, which is stored encrypted.
func TestLookupByEmailAndCPF(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	client := org.OK(201, "POST", "/clients", object{"name": "Maria", "phone": "+5511912345678", "email": "Maria@Lookup.example", "cpf": "529.982.247-25"})
	ids := func(matches []module.PersonMatch, err error) (found []string) {
		require.NoError(t, err)
		for _, match := range matches {
			if match.TenantID == org.ID {
				require.Equal(t, "client", match.Kind)
				found = append(found, match.ID)
			}
		}
		return found
	}
	emails, ends := org.Hub.Instance.(module.EmailSearcher), org.Hub.Instance.(module.CPFSearcher)
	require.Equal(t, []string{client["id"].(string)}, ids(emails.SearchEmail(t.Context(), "maria@lookup.example")))
	require.Equal(t, []string{client["id"].(string)}, ids(ends.SearchCPFEnd(t.Context(), "25")))
	require.Empty(t, ids(ends.SearchCPFEnd(t.Context(), "47")), "digits in the middle")
	require.Empty(t, ids(emails.SearchEmail(t.Context(), "other@lookup.example")))
}
