package schedulingtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/hubtest/openapitest"
	"integrationhub/hub/module"
	"integrationhub/scheduling"
)

func NamesOf(list []object) []string {
	var found []string
	for _, one := range list {
		found = append(found, one["name"].(string))
	}
	return found
}

// RunJob does what is due of a job, beside the hub's own runner. It waits for the runner
// where that has the job in hand.
func (s *Organization) RunJob(name string) {
	s.T.Helper()
	require.NoError(s.T, s.Hub.Job(name).Run(s.T.Context(), nil))
	require.Eventually(s.T, func() bool {
		return s.Count("hub.jobs where product = 'scheduling' and job = $1 and leased_to is not null", name) == 0
	}, 30*time.Second, 10*time.Millisecond)
}

// Exec changes the database behind the product's back.
func (s *Organization) Exec(sql string, args ...any) {
	s.T.Helper()
	s.Hub.Exec(sql, args...)
}

// Count counts rows: sql begins with the table.
func (s *Organization) Count(sql string, args ...any) int {
	s.T.Helper()
	return s.Hub.Count(sql, args...)
}

func IDsOf(list []object) (ids []string) {
	for _, one := range list {
		ids = append(ids, one["id"].(string))
	}
	return ids
}

// LinkPeer connects the organization with a tenant of another product of its hub, and
// gives the integration's id.
func (p *Bookable) LinkPeer() string {
	p.T.Helper()
	var peer struct {
		TenantID string `json:"tenant_id"`
	}
	p.Hub.CallAPI("POST", "/notes/api/v1/auth/register", object{"name": "Peer"}, &peer)
	var made struct{ Integrations []struct{ ID string } }
	p.Hub.CallAPI("POST", "/api/v1/integrations/link", object{"tenant_id": p.ID, "peer_tenant_id": peer.TenantID}, &made)
	return made.Integrations[0].ID
}

// NewBookableBesidePeer makes a studio in a hub that hosts another product too.
func NewBookableBesidePeer(t *testing.T) *Bookable {
	t.Helper()
	return RegisterOrganization(t, moduletest.Start(t, scheduling.New(), moduletest.Options{
		Start: Monday.Add(-72 * time.Hour), OtherModules: []module.Module{notes.New("notes")},
	})).MakeBookable()
}

// ReceiveEvent hands an event over as the hub does: what is ignored is committed.
func (p *Bookable) ReceiveEvent(id, eventType string, data object) error {
	p.T.Helper()
	raw, err := json.Marshal(data)
	require.NoError(p.T, err)
	var ignored error
	err = pgx.BeginFunc(p.T.Context(), p.Hub.Host.Pool, func(tx pgx.Tx) error {
		err := p.Hub.Instance.Handle(p.T.Context(), tx, hub.Event{ID: id, TenantID: p.ID, Environment: hub.Live, Product: "clinic", Type: eventType, Data: raw})
		if errors.Is(err, module.ErrIgnored) {
			ignored, err = err, nil
		}
		return err
	})
	return errors.Join(err, ignored)
}

// Unlimited lets a test's address ask as often as it likes.
const Unlimited = "HUB_PRODUCT_LIMITS=scheduling.public-writes=100000-M,scheduling.public-reads=100000-M,scheduling.users=100000-M,scheduling.holds=100000-M"

// contract is what the product says of itself: every answer that a test gets keeps it.
var contract openapitest.Document

const Password = "correct horse"

// Organization is an organization on a running service.
type Organization struct {
	moduletest.Client
	ID    uuid.UUID
	Slug  string
	Email string // the owner's
	Zone  *time.Location
}

var studios atomic.Int64

type object = moduletest.Object

type answer = moduletest.Response

// StartHub starts a hub with the service, whose clock shows a Friday.
func StartHub(t testing.TB, settings ...string) *moduletest.Hub {
	t.Helper()
	return moduletest.Start(t, scheduling.New(), moduletest.Options{Start: Monday.Add(-72 * time.Hour), Settings: settings})
}

// Monday is 09:00 of a Monday in São Paulo, where the studios are.
var Monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func NewOrganization(t testing.TB, settings ...string) *Organization {
	t.Helper()
	return RegisterOrganization(t, StartHub(t, settings...))
}

// OrganizationAt returns a registered organization of a product that serves at base.
func OrganizationAt(t testing.TB, base string, account moduletest.Account) *Organization {
	return &Organization{Client: newClient(t, moduletest.Attach(t, "scheduling", "", base, module.Host{}), account.Token), ID: account.Tenant}
}

// NewVisitor returns a caller without an account.
func NewVisitor(t testing.TB, hub *moduletest.Hub) *Organization {
	return &Organization{Client: newClient(t, hub, "")}
}

func newClient(t testing.TB, hub *moduletest.Hub, token string) moduletest.Client {
	return moduletest.Client{T: t, Hub: hub, Token: token, Contract: &contract, KeyPrefix: "sch_"}
}

// RegisterOrganization registers one more organization.
func RegisterOrganization(t testing.TB, h *moduletest.Hub) *Organization {
	t.Helper()
	zone, err := time.LoadLocation("America/Sao_Paulo")
	require.NoError(t, err)
	n := studios.Add(1)
	s := &Organization{Client: newClient(t, h, ""), Slug: fmt.Sprintf("studio-%d", n), Email: fmt.Sprintf("owner%d@example.com", n), Zone: zone}
	made := s.As("").OK(201, "POST", "/auth/register", object{
		"org_name": "Studio", "org_slug": s.Slug, "name": "Bia", "email": s.Email, "password": Password,
	})
	s.Token = made["access_token"].(string)
	s.ID = uuid.MustParse(made["organization"].(object)["id"].(string))
	return s
}

// As returns the organization as another caller sees it: with another token, or none.
func (s *Organization) As(token string) *Organization {
	copied := *s
	copied.Token = token
	return &copied
}

// AddProfessional makes one who works Monday to Friday from 9 to 12.
func (s *Organization) AddProfessional(name, service string) string {
	s.T.Helper()
	id := s.OK(201, "POST", "/professionals", object{"name": name})["id"].(string)
	s.Call("PUT", "/professionals/"+id+"/services", object{"service_ids": []string{service}})
	for day := range 5 {
		s.OK(201, "POST", "/schedule-rules", object{"professional_id": id, "day_of_week": day, "start_time": "09:00", "end_time": "12:00"})
	}
	return id
}

// InvalidWith requires a 422 with a code of its own that names a location first.
func (s *Organization) InvalidWith(code, location, method, path string, body any) {
	s.T.Helper()
	problem := s.Refused(422, code, method, path, body)
	require.Equal(s.T, location, problem["errors"].([]any)[0].(object)["location"])
}

// AdvanceClock lets time pass, and logs in again.
func (s *Organization) AdvanceClock(d time.Duration) {
	s.T.Helper()
	s.Hub.Clock.Advance(d)
	s.Token = s.As("").OK(200, "POST", "/auth/login", object{"email": s.Email, "password": Password})["access_token"].(string)
}

// EventTypes returns the types of the events the organization published, in order.
func (s *Organization) EventTypes() []string {
	s.T.Helper()
	return s.Hub.EventTypes(s.ID)
}
