package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/messaging/internal/messagingtest"
	"integrationhub/messaging/internal/realtime"
	"integrationhub/messaging/internal/store"
)

// streamEvent is one event of a stream.
type streamEvent struct {
	ID, Name string
	Data     object
}

// eventStream is an open stream.
type eventStream struct {
	t      testing.TB
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

// openStream opens a stream; headers come in pairs.
func openStream(t testing.TB, company *messagingtest.Company, query string, headers ...string) (*eventStream, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // then a test that waits for an event fails
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, company.Hub.Base+"/events"+query, nil)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := hubtest.HTTPClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() {
		cancel()
		_ = response.Body.Close()
	})
	return &eventStream{t, bufio.NewScanner(response.Body), cancel}, response.StatusCode
}

// next waits for the next event.
func (s *eventStream) next() streamEvent {
	s.t.Helper()
	var event streamEvent
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch {
		case name == "id":
			event.ID = value
		case name == "event":
			event.Name = value
		case name == "data":
			require.NoError(s.t, json.Unmarshal([]byte(value), &event.Data))
		case s.lines.Text() == "" && event.Name != "":
			return event
		}
	}
	require.FailNow(s.t, "the stream has ended", s.lines.Err())
	return event
}

// position waits for the next id that the stream names, of an event or not.
func (s *eventStream) position() string {
	s.t.Helper()
	for s.lines.Scan() {
		if id, found := strings.CutPrefix(s.lines.Text(), "id: "); found {
			return id
		}
	}
	require.FailNow(s.t, "the stream has ended", s.lines.Err())
	return ""
}

// until returns the kinds and actions of the next events, up to one of a kind.
func (s *eventStream) until(last string) (names []string, event streamEvent) {
	s.t.Helper()
	for {
		event = s.next()
		name := event.Name
		if action, ok := event.Data["action"].(string); ok {
			name += " " + action
		}
		if names = append(names, name); name == last {
			return names, event
		}
	}
}

// An inbox sees what happens, in order; after a break it goes on where it was.
func TestEventStream(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	other := company.AnotherCompany()
	bearer := []string{"Authorization", "Bearer " + company.Token}
	stream, status := openStream(t, company, "", bearer...)
	require.Equal(t, 200, status)
	theirs, _ := openStream(t, other, "", "Authorization", "Bearer "+other.Token)

	ana := company.AddPhone("Ana")
	company.SendFromPhone(ana, connection, "Hi")
	names, first := stream.until("message create")
	require.Equal(t, []string{"contact create", "ticket create", "message create"}, names)
	require.Equal(t, "Hi", first.Data["message"].(object)["body"])
	_, updated := stream.until("ticket update")
	require.EqualValues(t, 1, updated.Data["ticket"].(object)["unreadMessages"])

	// While nobody reads, things happen.
	stream.cancel()
	path := messagingtest.TicketPath(company.Tickets("")[0])
	company.OK(201, "POST", path+"/messages", object{"body": "Hello Ana"})
	company.Inbox(ana)
	resumed, _ := openStream(t, company, "", append(bearer, "Last-Event-ID", updated.ID)...)
	_, sent := resumed.until("message create")
	require.Equal(t, "Hello Ana", sent.Data["message"].(object)["body"])
	_, acknowledged := resumed.until("ack update")
	require.NotEmpty(t, acknowledged.Data["message"])

	company.OK(200, "DELETE", path, nil)
	_, deleted := resumed.until("ticket delete")
	require.Nil(t, deleted.Data["ticket"])

	// What is no longer kept begins anew; so does a number that was never given.
	_, err := company.Hub.Host.Pool.Exec(t.Context(), `delete from changes where company_id = $1`, company.ID)
	require.NoError(t, err)
	for _, id := range []string{first.ID, "99999999", "x", "-1", "12345678901234567890123"} { // a browser ends for good at a 400
		gone, _ := openStream(t, company, "", append(bearer, "Last-Event-ID", id)...)
		require.Equal(t, "reset", gone.next().Name)
	}

	// The other company has seen nothing of it: its own first event is the next.
	other.Connect()
	require.Equal(t, "connection", theirs.next().Name)
}

// A stream says where it is before the first event, so that nothing is missed between it and the
// next one; a browser says so in the query.
func TestResumeBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	line := company.Connect()
	user, _ := company.AddUser(nil)
	bearer := []string{"Authorization", "Bearer " + user.Token}
	byTicket := func() string { return "?ticket=" + user.OK(201, "POST", "/events/ticket", nil)["ticket"].(string) }
	stream, _ := openStream(t, company, "", bearer...)
	begin := stream.position()
	require.NotEmpty(t, begin)
	company.OK(201, "POST", "/campaigns", object{"name": "Not for users", "message1": "x", "whatsappId": line.ID})
	seen := stream.position()
	for seen == begin { // comments say how far it is, also where the user sees nothing
		seen = stream.position()
	}
	stream.cancel()
	company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987654321"})
	resumed, _ := openStream(t, company, "", append(bearer, "Last-Event-ID", begin)...)
	require.Equal(t, "contact", resumed.next().Name)
	inBrowser, _ := openStream(t, company, byTicket()+"&lastEventId="+begin)
	require.Equal(t, "contact", inBrowser.next().Name)
	unknown, _ := openStream(t, company, byTicket()+"&lastEventId=x")
	require.Equal(t, "reset", unknown.next().Name)
}

// A stream that comes back within the hour for which changes are kept gets what it missed. One that
// missed what is no longer kept gets the event reset, and what comes then.
func TestResumeWithinAnHour(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	bearer := []string{"Authorization", "Bearer " + company.Token}
	resume := func(id string) *eventStream {
		stream, status := openStream(t, company, "", append(bearer, "Last-Event-ID", id)...)
		require.Equal(t, 200, status)
		return stream
	}
	add := func(name string) {
		company.OK(201, "POST", "/contacts", object{"name": name, "number": company.AddPhone(name)})
	}
	// age makes the changes up to an id so old, and runs the job that deletes what is too old.
	age := func(upTo string, minutes int) {
		company.Hub.Exec(`update messaging.changes set at = now() - make_interval(mins => $3) where company_id = $1 and seq <= $2::text::bigint`, company.ID, upTo, minutes)
		company.RunJob("expired-changes")
	}
	requireContacts := func(stream *eventStream, names ...string) (ids []string) {
		for _, name := range names {
			event := stream.next()
			require.Equal(t, "contact", event.Name)
			require.Equal(t, name, event.Data["contact"].(object)["name"])
			ids = append(ids, event.ID)
		}
		return ids
	}
	stream, _ := openStream(t, company, "", bearer...)
	begin := stream.position()
	for _, name := range []string{"Ana", "Bruno", "Carla"} {
		add(name)
	}
	ids := requireContacts(stream, "Ana", "Bruno", "Carla")
	stream.cancel()

	age(ids[2], 59)
	requireContacts(resume(begin), "Ana", "Bruno", "Carla")
	age(ids[1], 61)
	for _, id := range []string{begin, ids[0]} { // Bruno's change is missing
		stream := resume(id)
		reset := stream.next()
		require.Equal(t, []string{"reset", ids[2]}, []string{reset.Name, reset.ID}, id)
		require.Empty(t, reset.Data)
	}
	requireContacts(resume(ids[1]), "Carla")
	age(ids[2], 61)
	upToDate, outdated := resume(ids[2]), resume(ids[1])
	require.Equal(t, "reset", outdated.next().Name)
	add("Dora")
	requireContacts(upToDate, "Dora") // who has missed nothing needs no reset
	requireContacts(outdated, "Dora")
}

// A ticket opens a stream for a minute.
func TestStreamTicketExpires(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	made := company.OK(201, "POST", "/events/ticket", nil)
	require.Equal(t, "2027-03-01T12:01:00Z", made["expiresAt"])
	second := company.OK(201, "POST", "/events/ticket", nil)
	company.Hub.Clock.Advance(59 * time.Second)
	_, status := openStream(t, company, "?ticket="+made["ticket"].(string))
	require.Equal(t, 200, status)
	company.Hub.Clock.Advance(time.Second)
	_, status = openStream(t, company, "?ticket="+second["ticket"].(string))
	require.Equal(t, 401, status)
}

// Browsers open a stream with a ticket, which is good for one use.
func TestStreamTicket(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	ticket := company.OK(201, "POST", "/events/ticket", nil)["ticket"].(string)
	stream, status := openStream(t, company, "?ticket="+ticket)
	require.Equal(t, 200, status)
	company.Connect()
	require.Equal(t, "connection", stream.next().Name)
	for _, query := range []string{"?ticket=" + ticket, "?ticket=x", ""} {
		_, status := openStream(t, company, query)
		require.Equal(t, 401, status, query)
	}
}

// A user has a few streams at once, however they are opened; other users have theirs.
func TestTooManyStreams(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	user, _ := company.AddUser(nil)
	bearer := []string{"Authorization", "Bearer " + company.Token}
	byTicket := func() string {
		return "?ticket=" + company.OK(201, "POST", "/events/ticket", nil)["ticket"].(string)
	}
	var streams []*eventStream
	for i := range 10 {
		query, headers := "", bearer
		if i%2 == 0 {
			query, headers = byTicket(), nil
		}
		stream, status := openStream(t, company, query, headers...)
		require.Equal(t, 200, status)
		streams = append(streams, stream)
	}
	refused := company.Call("GET", "/events", nil)
	require.Equal(t, []any{429, "ERR_TOO_MANY_STREAMS", "30"}, []any{refused.Status, refused.Body["error"], refused.Header.Get("Retry-After")}, refused.Text)
	require.Equal(t, 429, company.As("").Call("GET", "/events"+byTicket(), nil).Status)
	_, status := openStream(t, user, "", "Authorization", "Bearer "+user.Token)
	require.Equal(t, 200, status)

	streams[0].cancel()
	require.Eventually(t, func() bool {
		_, status := openStream(t, company, "", bearer...)
		return status == 200
	}, time.Minute, 500*time.Millisecond)
}

// What one stream has loaded of a company's changes serves those that are as far.
func TestStreamsShareWhatTheyLoad(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	messagingStore := store.New(company.Hub.Host, nil)
	service, scope := realtime.New(company.Hub.Host, messagingStore), store.Scope{Company: company.ID, Tenant: company.Tenant}
	wake, stop := service.Subscribe(company.ID)
	defer stop()
	<-wake
	cursor, err := messagingStore.NumberNewChanges(t.Context(), company.ID)
	require.NoError(t, err)
	next := func(after int64) *realtime.Batch {
		batch, err := service.Next(t.Context(), scope, after)
		require.NoError(t, err)
		return batch
	}
	company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987654321"})
	<-wake
	first := next(cursor)
	require.Len(t, first.Contacts, 1)
	require.Same(t, first, next(cursor))
	require.NotSame(t, first, next(cursor-1))
	company.OK(201, "POST", "/contacts", object{"name": "Bruno", "number": "5511987654322"})
	<-wake
	require.Len(t, next(cursor).Contacts, 2, "there is more")
}

// A stream ends with the login that it was opened by, also one with a ticket.
func TestStreamEndsWithItsLogin(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	ticket := company.OK(201, "POST", "/events/ticket", nil)["ticket"].(string)
	byTicket, status := openStream(t, company, "?ticket="+ticket)
	require.Equal(t, 200, status)
	byToken, status := openStream(t, company, "", "Authorization", "Bearer "+company.Token)
	require.Equal(t, 200, status)
	company.OK(200, "POST", "/auth/logout", nil)
	for _, stream := range []*eventStream{byTicket, byToken} {
		defer time.AfterFunc(time.Minute, stream.cancel).Stop() // then its reading fails
		for stream.lines.Scan() {
			require.NotContains(t, stream.lines.Text(), "data:")
		}
		require.NoError(t, stream.lines.Err())
	}
}

// A stream that resumes gets what it missed at once, also where another stream of the company
// has read it before and nothing new happens.
func TestResumeBesideAnotherStream(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	bearer := []string{"Authorization", "Bearer " + company.Token}
	open, _ := openStream(t, company, "", bearer...)
	company.SendFromPhone(company.AddPhone("Ana"), connection, "Hi")
	_, ticket := open.until("ticket create")
	open.until("ticket update")
	resumed, _ := openStream(t, company, "", append(bearer, "Last-Event-ID", ticket.ID)...)
	names, _ := resumed.until("ticket update")
	require.Equal(t, []string{"message create", "ticket update"}, names)
}
