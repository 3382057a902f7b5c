// Package schedulingtest has fixtures for the product's tests: an organization on a
// running hub, and steps that many tests share. Only tests import it.
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

type object = moduletest.Object

// Password is the password of every user that the fixtures register.
const Password = "correct horse"

// Unlimited is a setting that disables rate limits per address.
const Unlimited = "HUB_PRODUCT_LIMITS=scheduling.public-writes=100000-M,scheduling.public-reads=100000-M,scheduling.users=100000-M,scheduling.holds=100000-M,scheduling.sign-ups=100000-H,scheduling.logins=100000-M,scheduling.password-links=100000-H,scheduling.passwords=100000-H"

// Monday is 09:00 of a Monday in São Paulo, the zone of every organization here. The
// product's clock starts 72 hours earlier, on the Friday before.
var Monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// friday is where the product's clock starts.
var friday = Monday.Add(-72 * time.Hour)

// contract is the product's OpenAPI document: every response is checked against it.
var contract openapitest.Document

// registrations numbers the organizations of a test process.
var registrations atomic.Int64

// Organization is an organization on a running hub, as one caller sees it: its owner,
// until [Organization.As] names another.
type Organization struct {
	moduletest.Client
	ID    uuid.UUID
	Slug  string
	Email string // the owner's
	Zone  *time.Location
}

// StartHub starts a hub with the product, on the Friday before [Monday].
func StartHub(t testing.TB, settings ...string) *moduletest.Hub {
	t.Helper()
	return startHub(t, scheduling.New(), moduletest.Options{Settings: settings})
}

func startHub(t testing.TB, product module.Module, options moduletest.Options) *moduletest.Hub {
	t.Helper()
	options.Start = friday
	return moduletest.Start(t, product, options)
}

// NewOrganization registers an organization at the hub that the tests of the process share,
// see [moduletest.Shared]. Its product's clock stands on the Friday before [Monday].
func NewOrganization(t testing.TB) *Organization {
	t.Helper()
	return RegisterOrganization(t, moduletest.Shared(t, scheduling.New(), moduletest.Options{Start: friday, Settings: []string{Unlimited}}))
}

// NewOrganizationAlone starts a hub and registers an organization there.
func NewOrganizationAlone(t testing.TB, settings ...string) *Organization {
	t.Helper()
	return RegisterOrganization(t, StartHub(t, settings...))
}

// RegisterOrganization registers one more organization at a hub.
func RegisterOrganization(t testing.TB, hub *moduletest.Hub) *Organization {
	t.Helper()
	zone, err := time.LoadLocation("America/Sao_Paulo")
	require.NoError(t, err)
	n := registrations.Add(1)
	o := NewVisitor(t, hub)
	o.Slug, o.Email, o.Zone = fmt.Sprintf("studio-%d", n), fmt.Sprintf("owner%d@example.com", n), zone
	session := o.OK(201, "POST", "/auth/register", object{
		"org_name": "Studio", "org_slug": o.Slug, "name": "Bia", "email": o.Email, "password": Password,
	})
	o.Token = session["access_token"].(string)
	o.ID = uuid.MustParse(session["organization"].(object)["id"].(string))
	return o
}

// OrganizationAt returns a registered organization of a product that serves at base.
func OrganizationAt(t testing.TB, base string, account moduletest.Account) *Organization {
	o := NewVisitor(t, moduletest.Attach(t, "scheduling", "", base, module.Host{}))
	o.Token, o.ID = account.Token, account.Tenant
	return o
}

// NewVisitor returns a caller without an account.
func NewVisitor(t testing.TB, hub *moduletest.Hub) *Organization {
	return &Organization{Client: moduletest.Client{T: t, Hub: hub, Contract: &contract, KeyPrefix: "sch_"}}
}

// As returns the organization as another caller sees it: with another token or key, or
// with none.
func (o *Organization) As(token string) *Organization {
	copied := *o
	copied.Token = token
	return &copied
}

// AdvanceClock lets time pass and logs the owner in again.
func (o *Organization) AdvanceClock(d time.Duration) {
	o.T.Helper()
	o.Hub.Clock.Advance(d)
	o.Token = o.As("").OK(200, "POST", "/auth/login", object{"email": o.Email, "password": Password})["access_token"].(string)
}

// InvalidWith requires a 422 with a code of its own that names a location first.
func (o *Organization) InvalidWith(code, location, method, path string, body any) {
	o.T.Helper()
	problem := o.Refused(422, code, method, path, body)
	require.Equal(o.T, location, problem["errors"].([]any)[0].(object)["location"])
}

// AddProfessional adds a professional who offers a service Monday to Friday from 9 to 12
// and returns the id.
func (o *Organization) AddProfessional(name, serviceID string) string {
	o.T.Helper()
	id := o.OK(201, "POST", "/professionals", object{"name": name})["id"].(string)
	o.Call("PUT", "/professionals/"+id+"/services", object{"service_ids": []string{serviceID}})
	for day := range 5 {
		o.OK(201, "POST", "/schedule-rules", object{"professional_id": id, "day_of_week": day, "start_time": "09:00", "end_time": "12:00"})
	}
	return id
}

// RunJob runs a job once and waits until the hub's own runner has released it.
func (o *Organization) RunJob(name string) {
	o.T.Helper()
	o.Hub.RunJob(name)
}

// StopOwnRuns keeps the hub's own runner from a repeating job: only the test runs it.
func (o *Organization) StopOwnRuns(job string) {
	o.T.Helper()
	o.Hub.AwaitFirstRun(job)
	o.Exec(`update hub.jobs set due_at = due_at + interval '10 years' where product = 'scheduling' and job = $1`, job)
}

// Exec executes SQL on the product's database.
func (o *Organization) Exec(sql string, args ...any) {
	o.T.Helper()
	o.Hub.Exec(sql, args...)
}

// Count counts rows: sql begins with the table.
func (o *Organization) Count(sql string, args ...any) int {
	o.T.Helper()
	return o.Hub.Count(sql, args...)
}

// EventTypes returns the types of the events the organization published, in order.
func (o *Organization) EventTypes() []string {
	o.T.Helper()
	return o.Hub.EventTypes(o.ID)
}

// ReceiveEvent passes an event of a connected clinic to the product, as the hub does. The
// transaction of an ignored event is committed too.
func (o *Organization) ReceiveEvent(id, eventType string, data object) error {
	o.T.Helper()
	raw, err := json.Marshal(data)
	require.NoError(o.T, err)
	var ignored error
	err = pgx.BeginFunc(o.T.Context(), o.Hub.Host.Pool, func(tx pgx.Tx) error {
		err := o.Hub.Instance.Handle(o.T.Context(), tx, hub.Event{ID: id, TenantID: o.ID, Environment: hub.Live, Product: "clinic", Type: eventType, Data: raw})
		if errors.Is(err, module.ErrIgnored) {
			ignored, err = err, nil
		}
		return err
	})
	return errors.Join(err, ignored)
}

// NewBookableBesidePeer returns a bookable organization in a hub that hosts another
// product too.
func NewBookableBesidePeer(t testing.TB) *Bookable {
	t.Helper()
	return RegisterOrganization(t, startHub(t, scheduling.New(), moduletest.Options{OtherModules: []module.Module{notes.New("notes")}})).MakeBookable()
}

// LinkPeer connects the organization with a tenant of another product of its hub and
// returns the integration's id.
func (o *Organization) LinkPeer() string {
	o.T.Helper()
	var peer struct {
		TenantID string `json:"tenant_id"`
	}
	o.Hub.CallAPI("POST", "/notes/api/v1/auth/register", object{"name": "Peer"}, &peer)
	var linked struct{ Integrations []struct{ ID string } }
	o.Hub.CallAPI("POST", "/api/v1/integrations/link", object{"tenant_id": o.ID, "peer_tenant_id": peer.TenantID}, &linked)
	return linked.Integrations[0].ID
}

// NamesOf returns the names of a list's items.
func NamesOf(items []object) []string {
	var names []string
	for _, item := range items {
		names = append(names, item["name"].(string))
	}
	return names
}

// IDsOf returns the ids of a list's items.
func IDsOf(items []object) (ids []string) {
	for _, item := range items {
		ids = append(ids, item["id"].(string))
	}
	return ids
}
