package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

// messagingServer is a messaging product at an address of its own.
type messagingServer struct {
	t       *testing.T
	address string
	server  *http.Server

	mu       sync.Mutex
	calls    int
	received []string         // the appointments of the messages that it accepted
	respond  http.HandlerFunc // instead of accepting the message; nil: accept
}

// newMessagingServer returns a product at whose address nothing listens yet.
func newMessagingServer(t *testing.T) *messagingServer {
	address, err := hubtest.FreeAddress()
	require.NoError(t, err)
	return &messagingServer{t: t, address: address}
}

func (s *messagingServer) start() *messagingServer {
	listener, err := new(net.ListenConfig).Listen(s.t.Context(), "tcp", s.address)
	require.NoError(s.t, err)
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	s.server = server
	go func() { _ = server.Serve(listener) }()
	s.t.Cleanup(func() { _ = server.Close() })
	return s
}

// ServeHTTP implements http.Handler.
func (s *messagingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls++
	respond := s.respond
	s.mu.Unlock()
	if respond != nil {
		respond(w, r)
		return
	}
	var message struct{ Appointment struct{ ID string } }
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = append(s.received, message.Appointment.ID)
	_, _ = w.Write([]byte(`{"id":"m-1"}`))
}

func (s *messagingServer) setResponse(respond http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.respond = respond
}

// callCount returns how many requests arrived.
func (s *messagingServer) callCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// reminded returns the appointments of the reminders that arrived, oldest first.
func (s *messagingServer) reminded() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.received...)
}

// connections are the integrations of organizations with messaging products, which they
// call over HTTP.
type connections struct {
	module.Peers
	mu           sync.Mutex
	integrations map[uuid.UUID]module.Integration // by organization
	silent       *messagingServer                 // which is not waited for long; nil: each is
	calls        int
	onList       func() error // instead of a list
	onCall       func() error // before a call; an error instead of it
}

// List implements module.Peers.
func (c *connections) List(_ context.Context, tenant uuid.UUID, _ hub.Environment) ([]module.Integration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.onList != nil {
		if err := c.onList(); err != nil {
			return nil, err
		}
	}
	integration, ok := c.integrations[tenant]
	if !ok {
		return nil, nil
	}
	return []module.Integration{integration}, nil
}

// Call implements module.Peers.
func (c *connections) Call(ctx context.Context, id uuid.UUID, call hub.Call) (json.RawMessage, error) {
	c.mu.Lock()
	c.calls++
	onCall, address, timeout := c.onCall, "", time.Minute
	for _, integration := range c.integrations {
		if integration.ID == id {
			address = integration.APIURL
		}
	}
	if c.silent != nil && address == "http://"+c.silent.address {
		timeout = 300 * time.Millisecond
	}
	c.mu.Unlock()
	if onCall != nil {
		if err := onCall(); err != nil {
			return nil, err
		}
	}
	req, err := hub.NewRequest(ctx, http.MethodPost, address, call.Body)
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := hub.Exchange(&client, req)
	if err != nil {
		return nil, err
	}
	return response.CallResult()
}

func (c *connections) callCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// setHooks sets what happens at the next lists and calls.
func (c *connections) setHooks(onList, onCall func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onList, c.onCall = onList, onCall
}

// connect connects an organization with a product. It is reminded of by messages only, a day
// before each appointment.
func (c *connections) connect(org *schedulingtest.Bookable, product *messagingServer, status string) {
	org.OK(200, "PUT", "/organization/settings", object{"reminder_channels": []string{"whatsapp"}, "reminder_offsets_minutes": []int{1440}})
	c.setStatus(org, product, status)
}

func (c *connections) setStatus(org *schedulingtest.Bookable, product *messagingServer, status string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.integrations[org.ID] = module.Integration{ID: org.ID, TenantID: org.ID, Product: "messaging", Status: status, EnabledUses: []string{"reminders"}, APIURL: "http://" + product.address}
}

// newConnectedOrganization returns an organization that is connected with a product. Only the
// test runs the jobs for reminders.
func newConnectedOrganization(t *testing.T, product *messagingServer) (*connections, *schedulingtest.Bookable) {
	t.Helper()
	c := &connections{integrations: make(map[uuid.UUID]module.Integration)}
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = c })
	org.StopOwnRuns("message-reminders")
	c.connect(org, product, "active")
	return c, org
}

// unsent counts the reminders of an organization that are still to be sent.
func unsent(org *schedulingtest.Bookable) int {
	org.T.Helper()
	return org.Count("scheduling.reminders where org_id = $1 and sent_at is null", org.ID)
}

// A product that is away for hours gets the reminder when it is back, unless the appointment
// has begun.
func TestReminderOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	product := newMessagingServer(t)
	c, org := newConnectedOrganization(t, product)
	id := org.Book(0)
	org.Hub.Clock.Advance(48 * time.Hour)
	for range 13 { // of which the 1st, 2nd, 4th, 8th and 13th call
		org.RunJob("message-reminders")
		org.Hub.Clock.Advance(time.Minute)
	}
	require.Equal(t, 5, c.callCount())
	for range 20 {
		org.RunJob("message-reminders")
		org.Hub.Clock.Advance(10 * time.Minute)
	}
	require.Equal(t, 24, c.callCount())
	require.Equal(t, []string{"appointment.created"}, org.EventTypes())
	product.start()
	for range 3 {
		org.RunJob("message-reminders")
		org.Hub.Clock.Advance(10 * time.Minute)
	}
	require.Equal(t, []string{id}, product.reminded())
	require.Equal(t, []string{"appointment.created", "appointment.reminded"}, org.EventTypes())
	require.Zero(t, unsent(org))

	require.NoError(t, product.server.Close())
	org.AdvanceClock(0)
	org.Book(24 * time.Hour)
	org.Hub.Clock.Advance(24 * time.Hour)
	org.RunJob("message-reminders")
	require.Equal(t, 1, unsent(org))
	org.Hub.Clock.Advance(24 * time.Hour)
	product.start()
	org.RunJob("message-reminders")
	require.Zero(t, unsent(org), "the appointment has begun")
	require.Len(t, product.reminded(), 1)
}

// While the integration fails the reminder waits.
func TestReminderWaitsForAFailingIntegration(t *testing.T) {
	t.Parallel()
	product := newMessagingServer(t).start()
	c, org := newConnectedOrganization(t, product)
	id := org.Book(0)
	c.setStatus(org, product, "error")
	org.Hub.Clock.Advance(48 * time.Hour)
	for range 12 {
		org.RunJob("message-reminders")
		org.Hub.Clock.Advance(10 * time.Minute)
	}
	require.Equal(t, 1, unsent(org))
	c.setStatus(org, product, "active")
	org.RunJob("message-reminders")
	org.Hub.Clock.Advance(10 * time.Minute)
	org.RunJob("message-reminders")
	require.Equal(t, []string{id}, product.reminded())

	// Without an integration in use there is nothing to wait for.
	org.AdvanceClock(0)
	org.Book(24 * time.Hour)
	c.setStatus(org, product, "inactive")
	org.Hub.Clock.Advance(24 * time.Hour)
	org.RunJob("message-reminders")
	require.Zero(t, unsent(org))
}

// A failure of the hub before the call costs no reminder: integrations that cannot be listed,
// or a run that is to end.
func TestReminderAfterAFailureBeforeTheCall(t *testing.T) {
	t.Parallel()
	for name, hooks := range map[string]func(stop context.CancelFunc) (onList, onCall func() error){
		"the list fails": func(context.CancelFunc) (onList, onCall func() error) {
			return func() error { return errors.New("no list") }, nil
		},
		"the list fails for the database": func(context.CancelFunc) (onList, onCall func() error) {
			return func() error { return hub.Errorf(hub.ErrUnavailable, "database_unavailable", "away") }, nil
		},
		"the database fails": func(context.CancelFunc) (onList, onCall func() error) {
			return nil, func() error { return hub.Errorf(hub.ErrUnavailable, "database_unavailable", "away") }
		},
		"the run ends before the claim": func(stop context.CancelFunc) (onList, onCall func() error) {
			return func() error { stop(); return nil }, nil
		},
		"the run ends after the claim": func(stop context.CancelFunc) (onList, onCall func() error) {
			return nil, func() error { stop(); return context.Canceled }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			product := newMessagingServer(t).start()
			c, org := newConnectedOrganization(t, product)
			id := org.Book(0)
			org.Hub.Clock.Advance(48 * time.Hour)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			c.setHooks(hooks(stop))
			err := org.Hub.Job("message-reminders").Run(ctx, nil)
			require.Equal(t, ctx.Err(), err)
			require.Equal(t, 1, unsent(org))
			c.setHooks(nil, nil)
			org.Hub.Clock.Advance(time.Minute)
			org.RunJob("message-reminders")
			require.Equal(t, []string{id}, product.reminded())
		})
	}
}

// A product that limits its rate is left alone for as long as it asks, and gets all
// reminders in the end.
func TestRemindersToAProductThatLimitsItsRate(t *testing.T) {
	t.Parallel()
	product := newMessagingServer(t).start()
	product.setResponse(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, org := newConnectedOrganization(t, product)
	ids := []string{org.Book(0), org.Book(30 * time.Minute), org.Book(time.Hour)}
	org.Hub.Clock.Advance(50 * time.Hour)
	for hour := range 2 {
		for minute := range 60 {
			org.RunJob("message-reminders")
			require.Equal(t, 6*hour+minute/10+1, product.callCount())
			org.Hub.Clock.Advance(time.Minute)
		}
	}
	require.Equal(t, 3, unsent(org))
	product.setResponse(nil)
	for range 2 {
		org.RunJob("message-reminders")
		org.Hub.Clock.Advance(10 * time.Minute)
	}
	require.ElementsMatch(t, ids, product.reminded())
	require.Equal(t, 15, product.callCount())
}

// A product that does not respond is called for two organizations only, and once for each.
func TestRemindersToASilentProduct(t *testing.T) {
	t.Parallel()
	silent, other := newMessagingServer(t).start(), newMessagingServer(t).start()
	silent.setResponse(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c, first := newConnectedOrganization(t, silent)
	orgs := []*schedulingtest.Bookable{first}
	for range 3 {
		orgs = append(orgs, schedulingtest.RegisterOrganization(t, first.Hub).MakeBookable())
	}
	last := orgs[3]
	c.connect(orgs[1], silent, "active")
	c.connect(orgs[2], silent, "active")
	c.connect(last, other, "active")
	for _, after := range []time.Duration{0, 30 * time.Minute, time.Hour} {
		first.Book(after)
	}
	orgs[1].Book(time.Hour)
	orgs[2].Book(90 * time.Minute)
	id := last.Book(2 * time.Hour)
	first.Hub.Clock.Advance(50 * time.Hour)
	c.silent = silent
	first.RunJob("message-reminders")
	require.Equal(t, 3, c.callCount(), "two to the silent product")
	require.Equal(t, []string{id}, other.reminded())
	require.Equal(t, 2, unsent(first), "the third may have arrived")
	require.Zero(t, unsent(orgs[1]))
	require.Equal(t, 1, unsent(orgs[2]))
	silent.setResponse(nil)
	c.silent = nil
	first.Hub.Clock.Advance(time.Minute)
	first.RunJob("message-reminders")
	require.Len(t, silent.reminded(), 3)
}

// While a product does not respond, the reminders of others are sent.
func TestRemindersBesideASilentProduct(t *testing.T) {
	t.Parallel()
	silent, other := newMessagingServer(t).start(), newMessagingServer(t).start()
	release := make(chan struct{})
	silent.setResponse(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		w.WriteHeader(http.StatusInternalServerError)
	})
	c, org := newConnectedOrganization(t, silent)
	second := schedulingtest.RegisterOrganization(t, org.Hub).MakeBookable()
	c.connect(second, other, "active")
	org.Book(0)
	id := second.Book(30 * time.Minute)
	org.Hub.Clock.Advance(49 * time.Hour)
	done := make(chan error)
	go func() { done <- org.Hub.Job("message-reminders").Run(t.Context(), nil) }()
	assert.Eventually(t, func() bool { return len(other.reminded()) == 1 }, 20*time.Second, 10*time.Millisecond, "it waits for the silent product")
	close(release)
	require.NoError(t, <-done)
	require.Equal(t, []string{id}, other.reminded())
}

// Reminders that cannot be sent do not hold up those that are due later, even if they fill
// more than a batch.
func TestUnsendableRemindersDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	broken := schedulingtest.NewBookableAlone(t)
	broken.StopOwnRuns("reminders")
	org := schedulingtest.RegisterOrganization(t, broken.Hub).MakeBookable()
	id := broken.Book(0)
	org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	org.WaitForEmails("gil@example.com", 1)
	org.Hub.Clock.Advance(48 * time.Hour)
	org.Exec(`insert into scheduling.reminders (org_id, appointment_id, offset_minutes, channel, due_at)
		select $1, $2, 120, 'email', $3::timestamptz - n * interval '1 second' from generate_series(1, 450) n`, broken.ID, id, org.Hub.Clock.Now())
	org.Exec(`update scheduling.organizations set timezone = 'Nowhere/Nothing' where id = $1`, broken.ID)
	org.RunJob("reminders")
	org.WaitForEmails("gil@example.com", 2)
	require.Equal(t, 450, broken.Count("scheduling.reminders where org_id = $1 and offset_minutes = 120 and retry_at = $2", broken.ID, org.Hub.Clock.Now().Add(time.Minute)))
}
