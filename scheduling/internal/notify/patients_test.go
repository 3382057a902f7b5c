package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

// clinicPeer stands for the clinic that an organization is connected to.
type clinicPeer struct {
	module.Peers
	mu       sync.Mutex
	features []string
	patient  string // the answer
	fails    []error
	asked    []string
}

// List implements module.Peers.
func (c *clinicPeer) List(_ context.Context, tenant uuid.UUID, _ hub.Environment) ([]module.Integration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return []module.Integration{
		{ID: uuid.New(), TenantID: tenant, Product: "messaging", Status: "active", Features: []string{"patient.search"}},
		{ID: uuid.New(), TenantID: tenant, Product: "clinic", Status: "active", Features: c.features},
	}, nil
}

// Call implements module.Peers.
func (c *clinicPeer) Call(_ context.Context, _ uuid.UUID, call hub.Call) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, call.Name+" "+call.Query.Get("phone"))
	if len(c.fails) > 0 {
		err := c.fails[0]
		c.fails = c.fails[1:]
		return nil, err
	}
	return json.RawMessage(c.patient), nil
}

func (c *clinicPeer) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}

// A patient who changed is read back from the clinic: earlier values are refreshed,
// an address is taken where there is none, and what others typed stays.
func TestChangedPatientsAreReadFromTheClinic(t *testing.T) {
	t.Parallel()
	peer := &clinicPeer{features: []string{"patient.search"}, patient: `{"found":true,"patient":{"id":"p-1","name":"Ana Lima","email":"ana@example.com"}}`}
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = peer })
	client := org.AddClients(object{"name": "Ana"})[0]
	shown := func() (name, email any) {
		c := org.OK(200, "GET", "/clients/"+client, nil)
		return c["name"], c["email"]
	}
	n := 0
	updated := func(fields ...string) error {
		n++
		return org.ReceiveEvent("evt_"+strings.Repeat("0", 15-len(string(rune('a'+n))))+string(rune('a'+n)), "patient.updated", object{"patient_id": "p-1", "changed_fields": fields, "phone": "+5511955556666"})
	}
	waiting := func() int { return org.Count("hub.jobs where product = 'scheduling' and job = 'patients'") }
	settled := func() {
		t.Helper()
		require.Eventually(t, func() bool { return waiting() == 0 }, time.Minute, 20*time.Millisecond)
	}
	require.ErrorIs(t, updated("birth_date"), module.ErrIgnored)

	// Away, then limited, then there: each time is later.
	peer.fails = []error{
		hub.Errorf(hub.ErrPeer, hub.CodePeerUnreachable, "away").WithCause(&net.OpError{Op: "dial", Err: io.EOF}), hub.Errorf(hub.ErrPeerTimeout, hub.CodePeerTimeout, "silent"),
	}
	require.NoError(t, updated("name", "email"))
	for calls := 1; calls <= 3; calls++ {
		require.Eventually(t, func() bool { return peer.calls() == calls }, time.Minute, 20*time.Millisecond)
		if calls < 3 {
			require.Eventually(t, func() bool { return org.Count("hub.jobs where job = 'patients' and tries = $1", calls) == 1 }, time.Minute, 20*time.Millisecond)
			org.AdvanceClock(15 * time.Minute)
		}
	}
	settled()
	require.Equal(t, "search/patients +5511955556666", peer.asked[0])
	name, email := shown()
	require.Equal(t, "Ana", name, "staff typed it")
	require.Equal(t, "ana@example.com", email, "there was none")

	// What came from the clinic follows it.
	peer.patient = `{"found":true,"patient":{"id":"p-1","name":"Ana\r\nReis","email":"reis@example.com"}}`
	org.Exec(`update scheduling.clients set name_source = 'clinic' where id = $1`, client)
	require.NoError(t, updated("email"))
	settled()
	name, email = shown()
	require.Equal(t, "Ana Reis", name, "on one line")
	require.Equal(t, "reis@example.com", email)

	// Another patient with that phone does not concern the client.
	peer.patient = `{"found":true,"patient":{"id":"p-2","name":"Rui","email":"rui@example.com"}}`
	require.NoError(t, updated("email"))
	settled()
	_, email = shown()
	require.Equal(t, "reis@example.com", email)

	// What staff typed stays; and without the feature nothing is asked, and nothing fails.
	peer.patient = `{"found":true,"patient":{"id":"p-1","name":"X Y","email":"x@example.com"}}`
	org.OK(200, "PUT", "/clients/"+client, object{"email": "typed@example.com", "name": "Typed"})
	require.ErrorIs(t, updated("name", "email"), module.ErrIgnored)
	org.Exec(`update scheduling.clients set name_source = 'clinic' where id = $1`, client)
	before := peer.calls()
	peer.mu.Lock()
	peer.features = nil
	peer.mu.Unlock()
	require.NoError(t, updated("name"))
	settled()
	require.Equal(t, before, peer.calls())
	peer.mu.Lock()
	peer.features, peer.fails = []string{"patient.search"}, []error{hub.Errorf(hub.ErrInvalid, hub.CodeKeyRejected, "no such scope")}
	peer.mu.Unlock()
	require.NoError(t, updated("name"))
	settled()
	name, email = shown()
	require.Equal(t, "Typed", name)
	require.Equal(t, "typed@example.com", email)
}

// While a clinic cannot be reached, a single run calls it, and the runs for other changed
// patients fail at once: they hold up no other organization.
func TestUnreachableClinicIsCalledOnce(t *testing.T) {
	t.Parallel()
	peer := &clinicPeer{features: []string{"patient.search"}, patient: `{"found":false,"patient":null}`}
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = peer })
	for range 3 {
		peer.fails = append(peer.fails, hub.Errorf(hub.ErrPeerTimeout, hub.CodePeerTimeout, "silent"))
	}
	read := func(organization string) error {
		until := org.Hub.Clock.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		return org.Hub.Job("patients").Run(t.Context(), fmt.Appendf(nil, `{"org_id":%q,"product":"clinic","patient_id":"p-1","phone":"+5511955556666","until":%q}`, organization, until))
	}
	require.ErrorIs(t, read(org.ID.String()), hub.ErrPeerTimeout)
	for range 3 {
		require.ErrorIs(t, read(org.ID.String()), hub.ErrUnavailable)
	}
	require.Equal(t, 1, peer.calls())
	require.ErrorIs(t, read(uuid.NewString()), hub.ErrPeerTimeout, "another organization's is called")
	org.AdvanceClock(time.Minute)
	require.ErrorIs(t, read(org.ID.String()), hub.ErrPeerTimeout, "it is called again")
	org.AdvanceClock(time.Minute)
	require.NoError(t, read(org.ID.String()))
	require.NoError(t, read(org.ID.String()))
	require.Equal(t, 5, peer.calls())
}

// A job that waits for a clinic holds no number. When the client was erased meanwhile, the
// clinic is not asked about the person any more.
func TestWaitingPatientJobHoldsNoPhone(t *testing.T) {
	t.Parallel()
	peer := &clinicPeer{features: []string{"patient.search"}, patient: `{"found":false,"patient":null}`}
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = peer })
	client := org.AddClients(object{"name": "Ana"})[0]
	peer.fails = []error{hub.Errorf(hub.ErrPeerTimeout, hub.CodePeerTimeout, "silent")}
	require.NoError(t, org.ReceiveEvent("evt_5123456789abcdef", "patient.updated", object{"patient_id": "p-1", "changed_fields": []string{"name"}, "phone": "+5511955556666"}))
	const waiting = "hub.jobs where product = 'scheduling' and job = 'patients'"
	require.Eventually(t, func() bool { return org.Count(waiting+" and tries = 1") == 1 }, time.Minute, 20*time.Millisecond)
	require.Zero(t, org.Count(waiting+" and convert_from(payload, 'UTF8') like '%55556666%'"))
	org.OK(204, "DELETE", "/clients/"+client, nil)
	org.AdvanceClock(15 * time.Minute)
	require.Eventually(t, func() bool { return org.Count(waiting) == 0 }, time.Minute, 20*time.Millisecond)
	require.Equal(t, 1, peer.calls())
}

// Of a number that several patients have, only the patient with the client's name counts.
func TestSharedPatientNumberNeedsTheName(t *testing.T) {
	t.Parallel()
	peer := &clinicPeer{features: []string{"patient.search"}}
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = peer })
	ids := org.AddClients(object{"name": "Maria Souza"}, object{"name": "11 91111-0000", "phone": "+5511911110000"})
	update := func(event, phone, answer string) {
		t.Helper()
		peer.mu.Lock()
		peer.patient = answer
		peer.mu.Unlock()
		before := peer.calls()
		require.NoError(t, org.ReceiveEvent(event, "patient.updated", object{"patient_id": "p-1", "changed_fields": []string{"email"}, "phone": phone}))
		require.Eventually(t, func() bool {
			return peer.calls() > before && org.Count("hub.jobs where product = 'scheduling' and job = 'patients'") == 0
		}, time.Minute, 20*time.Millisecond)
	}
	email := func(client string) any { return org.OK(200, "GET", "/clients/"+client, nil)["email"] }

	update("evt_1123456789abcdef", "+5511955556666", `{"found":true,"matches":1,"patient":{"id":"p-1","name":"Pedro Lima","email":"pedro@example.com"}}`)
	require.Nil(t, email(ids[0]), "her son")
	update("evt_2123456789abcdef", "+5511911110000", `{"found":true,"matches":2,"patient":{"id":"p-1","name":"Pedro Lima","email":"pedro@example.com"}}`)
	require.Nil(t, email(ids[1]), "it is not sure which of the patients the client is")
	update("evt_3123456789abcdef", "+5511955556666", `{"found":true,"matches":2,"patient":{"id":"p-1","name":"Maria Lima de Souza","email":"maria@example.com"}}`)
	require.Equal(t, "maria@example.com", email(ids[0]))
}
