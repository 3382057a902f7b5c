// Package drivertest is the conformance suite of drivers. It checks the contract of
// [driver.Driver] against a network that the test plays. Where networks differ,
// [driver.Capabilities] and the optional interfaces say so.
package drivertest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// UnregisteredNumber is a number that no network of a test knows, in none of its forms.
const (
	UnregisteredNumber = "5511900000000"

	otherUnregisteredForm = "551100000000"
)

// RefusedBody is a text that no network accepts: it is too long.
var RefusedBody = strings.Repeat("x", 5000)

// BusyBody is a text that a bridge refuses unread, as if there were too many requests.
const BusyBody = "one too many"

// Network is a chat network with one connection, as the test plays it.
type Network interface {
	// Driver returns the driver, whose sink is the one that the network was made with.
	Driver() driver.Driver
	// Connection returns the connection, which has not been started.
	Connection() driver.Connection
	// Contact returns the number of the contact that messages come from.
	Contact() string
	// Pair connects the started connection, as a person does.
	Pair(t *testing.T)
	// EndSession ends the session, or the account's access: messages are not accepted any more.
	EndSession(t *testing.T)
	// Accepted returns the messages that the network accepted, in their order.
	Accepted(t *testing.T) []Accepted
	// Deliver has a contact's message delivered. The error is what the network sees: it keeps
	// the message for [Network.Redeliver].
	Deliver(t *testing.T, m Message) error
	// Redeliver has the contact's messages delivered again, at least those that the product
	// has not stored.
	Redeliver(t *testing.T) error
	// Acknowledge has a receipt sent for a message that was sent to the contact.
	Acknowledge(t *testing.T, remoteID string, ack chat.Ack) error
	// AcknowledgeEarly has the next message to the contact acknowledged by
	// [chat.AckDevice] before the network answers it.
	AcknowledgeEarly(t *testing.T)
	// AddFile returns a file with some content, as a contact sends it.
	AddFile(t *testing.T, content string) driver.IncomingMedia
	// GoneFile returns the reference of a file that the network does not have.
	GoneFile() string
}

// ResponseLoser is a network whose responses can be lost.
type ResponseLoser interface {
	// LoseNextResponse closes the connection instead of answering, after the network accepted the next message.
	LoseNextResponse()
}

// FormRegistrar is a network that registers a number in one of its forms only.
type FormRegistrar interface {
	// RegisterForm registers a number as it is written, and no other one of the same phone.
	RegisterForm(t *testing.T, number string)
}

// LIDNamer is a network that has names of its own for contacts.
type LIDNamer interface {
	// LID returns that of the contact that messages come from.
	LID(t *testing.T) string
}

// SilentChanger is a network that may change the state of a session without reporting it.
type SilentChanger interface {
	// ChangeSilently puts the session in a state, without an event.
	ChangeSilently(t *testing.T, status chat.ConnectionStatus)
}

// Accepted is a message that a network accepted.
type Accepted struct {
	RemoteID, To, Body, QuotedRemoteID, MediaURL string
}

// Message is a message of the contact.
type Message struct {
	RemoteID string // where the sender chooses it; networks may have their own
	Body     string
	Quoted   string // remote id
	Media    *driver.IncomingMedia
}

// Hooks are what happens when a network answers a message.
type Hooks struct {
	BeforeAnswer func(remoteID string)
	LoseResponse func() bool // whether this response is lost
}

// fixture is one test case: a network with its driver, connection and sink.
type fixture struct {
	Network
	driver       driver.Driver
	capabilities driver.Capabilities
	connection   driver.Connection
	sink         *Recorder
}

// Run checks a driver. newNetwork starts a network whose driver passes what happens to a sink.
func Run(t *testing.T, newNetwork func(t *testing.T, sink driver.Sink) Network) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"start and stop", checkStart},
		{"send", checkSend},
		{"send again", checkSendAgain},
		{"files and quotes", checkFiles},
		{"errors", checkErrors},
		{"forms of a number", checkForms},
		{"contacts without a number", checkLIDs},
		{"received messages", checkReceived},
		{"receipts", checkReceipts},
		{"early receipt", checkEarlyReceipt},
		{"the sink fails", checkSinkFails},
		{"lost response", checkLostResponse},
		{"unreported states", checkUnreported},
		{"context", checkContext},
		{"concurrent use", checkConcurrent},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sink := NewRecorder()
			network := newNetwork(t, sink)
			c.run(t, &fixture{network, network.Driver(), network.Driver().Capabilities(), network.Connection(), sink})
		})
	}
}

// connect starts and pairs the connection.
func (b *fixture) connect(t *testing.T) {
	t.Helper()
	require.NoError(t, b.driver.Start(t.Context(), b.connection))
	b.Pair(t)
	require.Equal(t, chat.ConnectionConnected, b.sink.State().Status)
}

// message returns a text to the contact. Ids are never used twice, whatever the connection.
func (b *fixture) message(id, body string) driver.Outgoing {
	return driver.Outgoing{ID: fmt.Sprintf("%d-%s", b.connection.ID, id), To: b.Contact(), Body: body}
}

// send sends a message that has to be accepted.
func (b *fixture) send(t *testing.T, m driver.Outgoing) driver.Sent {
	t.Helper()
	sent, err := b.driver.Send(t.Context(), b.connection, m)
	require.NoError(t, err)
	return sent
}

// requireNotSent sends a message that must not be accepted, for a reason.
func (b *fixture) requireNotSent(t *testing.T, m driver.Outgoing, reason error) {
	t.Helper()
	before := len(b.Accepted(t))
	_, err := b.driver.Send(t.Context(), b.connection, m)
	require.ErrorIs(t, err, reason)
	require.Len(t, b.Accepted(t), before)
}

func checkStart(t *testing.T, b *fixture) {
	ctx := t.Context()
	require.NotEmpty(t, b.driver.Name())
	require.NoError(t, b.driver.Stop(ctx, b.connection), "there is no session yet")
	require.NoError(t, b.driver.Start(ctx, b.connection))
	if state := b.sink.State(); b.capabilities.QRCode {
		require.Equal(t, chat.ConnectionQRCode, state.Status)
		require.NotEmpty(t, state.QRCode)
		require.False(t, state.QRExpiresAt.IsZero())
	}
	require.Equal(t, b.connection.ID, b.sink.State().ConnectionID)
	require.NoError(t, b.driver.Start(ctx, b.connection), "a second start is no error")
	b.Pair(t)
	connected := b.sink.State()
	require.Equal(t, chat.ConnectionConnected, connected.Status)
	require.True(t, chat.IsNumber(connected.Number), "%q", connected.Number)
	require.NoError(t, b.driver.Start(ctx, b.connection))
	require.Equal(t, chat.ConnectionConnected, b.sink.State().Status, "a session is kept")

	for range 2 {
		require.NoError(t, b.driver.Stop(ctx, b.connection))
	}
	if !b.capabilities.Sessions {
		b.send(t, b.message("m1", "Hello"))
		return
	}
	b.requireNotSent(t, b.message("m1", "Hello"), driver.ErrNotConnected)
	require.NoError(t, b.driver.Start(ctx, b.connection))
	b.Pair(t)
	b.send(t, b.message("m2", "Hello again"))
}

func checkSend(t *testing.T, b *fixture) {
	b.connect(t)
	for _, body := range []string{"Hello", "Olá, 'Ana' \"\\ \n👍🏽", strings.Repeat("ã", 4096)} {
		sent := b.send(t, b.message("m-"+body[:2], body))
		require.NotEmpty(t, sent.RemoteID)
		require.WithinDuration(t, time.Now(), sent.At, 5*time.Minute)
		accepted := b.Accepted(t)
		require.Equal(t, Accepted{RemoteID: sent.RemoteID, To: b.Contact(), Body: body}, accepted[len(accepted)-1])
	}
	require.NoError(t, b.driver.MarkRead(t.Context(), b.connection, driver.Contact{Number: b.Contact()}, []string{"a", "b"}))
	require.NoError(t, b.driver.MarkRead(t.Context(), b.connection, driver.Contact{Number: b.Contact()}, nil))
	require.Len(t, b.Accepted(t), 3, "read receipts are no messages")
}

// The same id is one message, at once and later, where the network can tell.
func checkSendAgain(t *testing.T, b *fixture) {
	b.connect(t)
	first := b.send(t, b.message("m1", "Hello"))
	other := b.send(t, b.message("m2", "Hello"))
	require.NotEqual(t, first.RemoteID, other.RemoteID, "the same text is another message")
	if b.capabilities.Idempotent {
		require.Equal(t, first.RemoteID, b.send(t, b.message("m1", "Hello")).RemoteID)
	}
	require.Len(t, b.Accepted(t), 2)
}

func checkFiles(t *testing.T, b *fixture) {
	b.connect(t)
	quoted := b.send(t, b.message("m1", "Hello"))
	m := b.message("m2", "The way")
	m.QuotedRemoteID = quoted.RemoteID
	m.Media = &driver.Media{Type: chat.MediaImage, MimeType: "image/png", Name: "map.png", URL: "https://hub.example.com/map"}
	sent := b.send(t, m)
	require.Equal(t, Accepted{RemoteID: sent.RemoteID, To: b.Contact(), Body: "The way", QuotedRemoteID: quoted.RemoteID, MediaURL: m.Media.URL}, b.Accepted(t)[1])
}

func checkErrors(t *testing.T, b *fixture) {
	ctx := t.Context()
	registered, err := b.driver.Check(ctx, b.connection, UnregisteredNumber)
	require.NoError(t, err)
	require.Equal(t, !b.capabilities.NumberCheck, registered)
	registered, err = b.driver.Check(ctx, b.connection, b.Contact())
	require.NoError(t, err)
	require.True(t, registered)
	if b.capabilities.Sessions {
		b.requireNotSent(t, b.message("m1", "Hello"), driver.ErrNotConnected)
	}
	b.connect(t)
	b.requireNotSent(t, driver.Outgoing{ID: "m2", To: UnregisteredNumber, Body: "Hello"}, driver.ErrNotRegistered)
	b.requireNotSent(t, b.message("m3", RefusedBody), driver.ErrRefused)
	b.EndSession(t)
	b.requireNotSent(t, b.message("m4", "Hello"), driver.ErrNotConnected)
	if b.capabilities.Sessions {
		require.NotEqual(t, chat.ConnectionConnected, b.sink.State().Status, "the product knows")
	}
}

// A Brazilian mobile number is registered with its ninth digit or without: the network is asked for
// the form, and takes messages to no other one.
func checkForms(t *testing.T, b *fixture) {
	registrar, hasForms := b.Network.(FormRegistrar)
	require.Equal(t, b.capabilities.NumberCheck, hasForms)
	if !hasForms {
		return
	}
	b.connect(t)
	with := fmt.Sprintf("55119%08d", 76_000_000+b.connection.ID)
	without := with[:4] + with[5:]
	for i, forms := range [][2]string{{without, with}, {"552" + without[3:], "552" + with[3:]}} {
		if i == 1 { // the other way round
			forms[0], forms[1] = forms[1], forms[0]
		}
		registrar.RegisterForm(t, forms[0])
		for j, form := range forms {
			isRegistered, err := b.driver.Check(t.Context(), b.connection, form)
			require.NoError(t, err)
			require.Equal(t, j == 0, isRegistered, form)
		}
		b.requireNotSent(t, driver.Outgoing{ID: fmt.Sprintf("%d-other-%d", b.connection.ID, i), To: forms[1], Body: "Hello"}, driver.ErrNotRegistered)
		b.send(t, driver.Outgoing{ID: fmt.Sprintf("%d-form-%d", b.connection.ID, i), To: forms[0], Body: "Hello"})
		require.Equal(t, forms[0], b.Accepted(t)[i].To)
	}
}

// A contact whose number the network does not tell is reached by the network's name of it.
func checkLIDs(t *testing.T, b *fixture) {
	namer, hasLIDs := b.Network.(LIDNamer)
	require.Equal(t, b.capabilities.LIDs, hasLIDs)
	if !hasLIDs {
		return
	}
	b.connect(t)
	lid := namer.LID(t)
	b.send(t, driver.Outgoing{ID: fmt.Sprintf("%d-m1", b.connection.ID), LID: lid, Body: "Hello"})
	require.Contains(t, []string{lid, b.Contact()}, b.Accepted(t)[0].To)
	require.NoError(t, b.driver.MarkRead(t.Context(), b.connection, driver.Contact{LID: lid}, []string{"a"}))
}

func checkReceived(t *testing.T, b *fixture) {
	b.connect(t)
	sent := b.send(t, b.message("m1", "Hello"))
	require.NoError(t, b.Deliver(t, Message{RemoteID: "in-1", Body: "Hi", Quoted: sent.RemoteID}))
	file := b.AddFile(t, "content")
	require.NoError(t, b.Deliver(t, Message{RemoteID: "in-2", Body: "Look", Media: &file}))
	require.NoError(t, b.Redeliver(t))
	received := b.sink.Messages()
	require.Len(t, received, 2, "each once")
	first, second := received[0], received[1]
	require.Equal(t, []any{b.connection.ID, b.Contact(), "Ana", "Hi", sent.RemoteID}, []any{first.ConnectionID, first.From, first.Name, first.Body, first.QuotedRemoteID})
	require.NotEmpty(t, first.RemoteID)
	require.NotEqual(t, first.RemoteID, second.RemoteID)
	require.WithinDuration(t, time.Now(), first.At, 5*time.Minute)
	require.Equal(t, []any{"Look", file.Type, file.MimeType}, []any{second.Body, second.Media.Type, second.Media.MimeType})

	content, err := b.driver.OpenMedia(t.Context(), b.connection, second.Media.Reference)
	require.NoError(t, err)
	require.Equal(t, "content", readAll(t, content))
	_, err = b.driver.OpenMedia(t.Context(), b.connection, b.GoneFile())
	require.ErrorIs(t, err, driver.ErrRefused, "it will never be there")
}

// Acks grow, in whatever order receipts come.
func checkReceipts(t *testing.T, b *fixture) {
	b.connect(t)
	sent := b.send(t, b.message("m1", "Hello"))
	for _, ack := range []chat.Ack{chat.AckRead, chat.AckDevice, chat.AckRead, chat.AckServer} {
		require.NoError(t, b.Acknowledge(t, sent.RemoteID, ack))
		require.Equal(t, chat.AckRead, b.sink.Ack(sent.RemoteID))
	}
}

// A receipt may come before the response to its message.
func checkEarlyReceipt(t *testing.T, b *fixture) {
	b.connect(t)
	b.AcknowledgeEarly(t)
	sent := b.send(t, b.message("m1", "Hello"))
	require.Equal(t, chat.AckDevice, b.sink.Ack(sent.RemoteID))
}

// What the sink has not stored, the network sees as not stored, and passes again.
func checkSinkFails(t *testing.T, b *fixture) {
	b.connect(t)
	sent := b.send(t, b.message("m1", "Hello"))
	b.sink.Fail(true)
	require.Error(t, b.Deliver(t, Message{RemoteID: "in-1", Body: "Hi"}))
	require.Error(t, b.Acknowledge(t, sent.RemoteID, chat.AckDevice))
	b.sink.Fail(false)
	require.Empty(t, b.sink.Messages())
	require.NoError(t, b.Redeliver(t))
	require.NoError(t, b.Redeliver(t))
	require.Len(t, b.sink.Messages(), 1)
	require.Equal(t, "Hi", b.sink.Messages()[0].Body)
	require.NoError(t, b.Acknowledge(t, sent.RemoteID, chat.AckDevice))
	require.Equal(t, chat.AckDevice, b.sink.Ack(sent.RemoteID))
}

// A response that is lost leaves one message at the network: it is sent again where the
// network can tell, and unclear where it cannot.
func checkLostResponse(t *testing.T, b *fixture) {
	line, isLine := b.Network.(ResponseLoser)
	if !isLine { // the network is in this process
		require.True(t, b.capabilities.Idempotent)
		return
	}
	b.connect(t)
	line.LoseNextResponse()
	_, err := b.driver.Send(t.Context(), b.connection, b.message("m1", "Hello"))
	require.Error(t, err)
	for _, final := range []error{driver.ErrNotConnected, driver.ErrNotRegistered, driver.ErrRefused} {
		require.NotErrorIs(t, err, final)
	}
	if !b.capabilities.Idempotent {
		require.ErrorIs(t, err, driver.ErrUnclear)
	} else {
		require.NotErrorIs(t, err, driver.ErrUnclear)
		require.Equal(t, b.Accepted(t)[0].RemoteID, b.send(t, b.message("m1", "Hello")).RemoteID)
	}
	require.Len(t, b.Accepted(t), 1)
}

// A driver that has to ask for states passes them on when the product asks it to.
func checkUnreported(t *testing.T, b *fixture) {
	keeper, asks := b.driver.(driver.SessionRefresher)
	network, isUnreported := b.Network.(SilentChanger)
	require.Equal(t, asks, isUnreported)
	if !asks {
		return
	}
	b.connect(t)
	for _, status := range []chat.ConnectionStatus{chat.ConnectionTimeout, chat.ConnectionConnected, chat.ConnectionBanned} {
		network.ChangeSilently(t, status)
		require.NotEqual(t, status, b.sink.State().Status)
		require.NoError(t, keeper.Refresh(t.Context(), b.connection))
		require.Equal(t, status, b.sink.State().Status)
	}
}

// A call whose context has ended does nothing, and says so.
func checkContext(t *testing.T, b *fixture) {
	b.connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.driver.Send(ctx, b.connection, b.message("m1", "Hello"))
	require.Error(t, err)
	require.NotErrorIs(t, err, driver.ErrUnclear, "nothing was sent")
	require.Empty(t, b.Accepted(t))
	if b.capabilities.Sessions {
		require.Error(t, b.driver.Start(ctx, b.connection))
		require.Error(t, b.driver.Stop(ctx, b.connection))
	}
	require.Equal(t, chat.ConnectionConnected, b.sink.State().Status)
	b.send(t, b.message("m1", "Hello"))
}

// Drivers are used by many requests at once, and by the network.
func checkConcurrent(t *testing.T, b *fixture) {
	const workers, each = 8, 5
	b.connect(t)
	var running sync.WaitGroup
	errs := make(chan error, 2*workers*each)
	for worker := range workers {
		running.Go(func() {
			for i := range each {
				id := fmt.Sprintf("m-%d-%d", worker, i)
				_, err := b.driver.Send(t.Context(), b.connection, b.message(id, id))
				errs <- err
				errs <- b.Deliver(t, Message{RemoteID: "in-" + id, Body: id})
			}
		})
	}
	running.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Len(t, b.Accepted(t), workers*each)
	require.Len(t, b.sink.Messages(), workers*each)
}
