package autoreply_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// monday is a Monday at 9 in São Paulo.
var monday = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// chatRoom is a company with a connection, and a contact's phone.
type chatRoom struct {
	*messagingtest.Company
	connection messagingtest.Connection
	phone      string
	seen       int // messages on the phone that the test has looked at
}

// newChatRoom makes a company whose clock stands at a time, with a connection that has
// settings.
func newChatRoom(t *testing.T, start time.Time, settings object) *chatRoom {
	t.Helper()
	return newChatRoomOf(messagingtest.NewCompanyAt(t, start), settings)
}

// newChatRoomOf makes a company a connection and a contact's phone.
func newChatRoomOf(company *messagingtest.Company, settings object) *chatRoom {
	company.T.Helper()
	room := &chatRoom{Company: company, connection: company.Connect(), phone: company.AddPhone("Ana Souza")}
	room.set(settings)
	return room
}

// set changes the settings of the connection.
func (r *chatRoom) set(settings object) {
	r.T.Helper()
	r.OK(200, "PUT", messagingtest.ConnectionPath(r.connection), settings)
}

// addQueue makes a queue and returns its id.
func (r *chatRoom) addQueue(fields object) int64 {
	r.T.Helper()
	return messagingtest.ID(r.OK(201, "POST", "/queue", fields))
}

// say sends messages from the phone, ten seconds apart, and returns what it got since the
// last call.
func (r *chatRoom) say(texts ...string) []string {
	r.T.Helper()
	for _, text := range texts {
		r.Hub.Clock.Advance(10 * time.Second)
		r.SendFromPhone(r.phone, r.connection, text)
	}
	return r.received()
}

// received returns what the phone got since the last call, with what waits in the outbox.
func (r *chatRoom) received() []string {
	r.T.Helper()
	r.FlushOutbox()
	inbox := r.Inbox(r.phone)
	fresh := inbox[r.seen:]
	r.seen = len(inbox)
	return append([]string{}, fresh...)
}

// untilJob runs a background job until a condition holds: the hub may be running it too.
func (r *chatRoom) untilJob(job string, isDone func() bool) {
	r.T.Helper()
	require.Eventually(r.T, func() bool {
		r.RunJob(job)
		return isDone()
	}, time.Minute, 10*time.Millisecond)
}

// ticket returns the contact's only ticket.
func (r *chatRoom) ticket() object {
	r.T.Helper()
	tickets := r.Tickets("")
	require.Len(r.T, tickets, 1)
	return tickets[0]
}

// change changes the contact's only ticket.
func (r *chatRoom) change(fields object) object {
	r.T.Helper()
	return r.OK(200, "PUT", messagingtest.TicketPath(r.ticket()), fields)
}

func TestGreeting(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, monday, object{"greetingMessage": "{{ms}}, {{firstName}}! It is {{hora}}.", "farewellMessage": "Bye, {{name}}"})
	require.Equal(t, []string{"Bom dia, Ana! It is 09:00."}, room.say("Hi", "Are you there?"), "once")
	messages := room.Get(messagingtest.TicketPath(room.ticket()) + "/messages")["messages"].([]any)
	require.Equal(t, "bot", messages[1].(object)["origin"])
	require.Nil(t, messages[1].(object)["userId"])
	require.Nil(t, room.ticket()["firstResponseAt"], "nobody has answered yet")
	room.change(object{"status": "open"})
	require.Empty(t, room.say("Hello?"), "a person answers now")
	room.change(object{"status": "closed"})
	require.Equal(t, []string{"Bye, Ana Souza"}, room.received())
	require.Empty(t, room.say("One more thing"), "the same ticket again")
	require.Equal(t, "pending", room.ticket()["status"])
	room.change(object{"status": "closed"})
	room.received()
	room.Advance(3 * time.Hour)
	require.Equal(t, []string{"Boa tarde, Ana! It is 12:00."}, room.say("Good day"), "a new ticket")

	// A conversation that the company began has no greeting.
	program, bruno := room.As(room.APIToken()), room.AddPhone("Bruno")
	program.OK(200, "POST", "/api/messages/send", object{"number": bruno, "body": "Your appointment is tomorrow."})
	room.SendFromPhone(bruno, room.connection, "Thanks")
	require.Equal(t, []string{"Your appointment is tomorrow."}, room.Inbox(bruno))
	// Nor have contacts that get no automatic messages.
	carla := room.AddPhone("Carla")
	room.OK(201, "POST", "/contacts", object{"name": "Carla", "number": carla, "disableBot": true})
	room.SendFromPhone(carla, room.connection, "Hi")
	require.Empty(t, room.Inbox(carla))
}

// Twenty first messages at once make one greeting, also where it has a menu.
func TestGreetingAtOnce(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, time.Now(), object{"greetingMessage": "Welcome"})
	room.set(object{"queueIds": []int64{room.addQueue(object{"name": "Sales", "color": "#00f"}), room.addQueue(object{"name": "Support", "color": "#0f0"})}})
	var sending sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		sending.Go(func() {
			response, err := room.Try("POST", "/sandbox/phones/"+room.phone+"/send", object{"to": room.connection.Number, "body": fmt.Sprintf("message %d", i)})
			if errs[i] = err; err == nil && response.Status != 201 {
				errs[i] = fmt.Errorf("status %d: %s", response.Status, response.Text)
			}
		})
	}
	sending.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, []string{"Welcome\n\n1 - Sales\n2 - Support"}, room.received())
	require.EqualValues(t, 20, room.ticket()["unreadMessages"])
}

func TestMenuOfQueues(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, monday, object{"greetingMessage": "Welcome"})
	support := room.addQueue(object{"name": "Support", "color": "#0f0", "greetingMessage": "How can we help?", "options": []object{
		{"id": 1, "title": "Hours", "message": "8 to 18"}, {"id": 2, "title": "Address", "message": "Where?"}, {"title": "Center", "parentId": 2, "message": "Rua Augusta"}, {"title": "Person", "option": "0"},
	}})
	sales := room.addQueue(object{"name": "Sales", "color": "#00f", "orderQueue": 1})
	room.set(object{"queueIds": []int64{support, sales}})
	const menu = "Welcome\n\n1 - Sales\n2 - Support"
	require.Equal(t, []string{menu}, room.say("Hi"))
	require.Equal(t, true, room.ticket()["chatbot"])
	require.Equal(t, []string{menu}, room.say("Help me"), "a wrong answer")
	require.Equal(t, []string{"How can we help?\n\n1 - Hours\n2 - Address\n0 - Person"}, room.say("2"))
	require.EqualValues(t, support, room.ticket()["queueId"])
	require.Equal(t, []string{"Where?\n\n1 - Center"}, room.say("address"))
	require.Equal(t, []string{"1 - Center"}, room.say("9"))
	require.Equal(t, []string{"Rua Augusta"}, room.say("1"))
	require.Equal(t, false, room.ticket()["chatbot"])
	require.Empty(t, room.say("1"), "people answer now")

	// Sales has neither a greeting nor a menu.
	room.phone, room.seen = room.AddPhone("Bruno"), 0
	require.Equal(t, []string{menu}, room.say("Hi"))
	require.Empty(t, room.say("1"))
	require.EqualValues(t, sales, room.Tickets("searchParam=" + room.phone)[0]["queueId"])
}

// Three wrong answers leave the ticket to people; so does a setting for fewer.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, monday, object{"greetingMessage": "Welcome"})
	room.set(object{"queueIds": []int64{room.addQueue(object{"name": "Sales", "color": "#00f"}), room.addQueue(object{"name": "Support", "color": "#0f0"})}})
	const menu = "Welcome\n\n1 - Sales\n2 - Support"
	require.Equal(t, []string{menu, menu, menu}, room.say("Hi", "x", "3"))
	require.Empty(t, room.say("Support please"), "the third")
	require.Equal(t, false, room.ticket()["chatbot"])
	require.Empty(t, room.say("1"))
	require.Nil(t, room.ticket()["queueId"])

	room.set(object{"maxUseBotQueues": 1})
	room.phone, room.seen = room.AddPhone("Bruno"), 0
	require.Equal(t, []string{menu}, room.say("Hi"))
	require.Empty(t, room.say("x"))
	room.set(object{"maxUseBotQueues": 0})
	room.phone, room.seen = room.AddPhone("Carla"), 0
	require.Equal(t, []string{"Welcome"}, room.say("Hi", "1"))
	// Who accepts a ticket ends its menu.
	room.set(object{"maxUseBotQueues": 3})
	room.phone, room.seen = room.AddPhone("Davi"), 0
	require.Equal(t, []string{menu}, room.say("Hi"))
	room.OK(200, "PUT", messagingtest.TicketPath(room.Tickets("searchParam=" + room.phone)[0]), object{"status": "open"})
	require.Empty(t, room.say("1"))
	require.Nil(t, room.Tickets("searchParam=" + room.phone)[0]["queueId"])
}

// Wrong answers within seconds after a menu count too. The menu is not sent again so soon.
func TestFastWrongAnswers(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, monday, object{"greetingMessage": "Welcome"})
	room.set(object{"queueIds": []int64{room.addQueue(object{"name": "Sales", "color": "#00f"}), room.addQueue(object{"name": "Support", "color": "#0f0"})}})
	const menu = "Welcome\n\n1 - Sales\n2 - Support"
	sayFast := func(texts ...string) []string {
		for _, text := range texts {
			room.Hub.Clock.Advance(800 * time.Millisecond)
			room.SendFromPhone(room.phone, room.connection, text)
		}
		return room.received()
	}
	require.Equal(t, []string{menu}, room.say("Hi"))
	require.Empty(t, sayFast("x", "3"))
	require.Equal(t, true, room.ticket()["chatbot"])
	require.Empty(t, sayFast("9"), "the third")
	require.Equal(t, false, room.ticket()["chatbot"])
	require.Empty(t, room.say("1"), "people answer now")

	room.phone, room.seen = room.AddPhone("Bruno"), 0
	require.Equal(t, []string{menu}, room.say("Hi"))
	require.Empty(t, sayFast("x"))
	require.Equal(t, []string{menu}, room.say("y"), "the second, later")
	require.Empty(t, sayFast("2"), "a right one counts at once")
	require.NotNil(t, room.Tickets("searchParam=" + room.phone)[0]["queueId"])
}

// Outside of opening hours a contact gets one message in twelve hours, in place of a greeting.
// A queue's hours and message take precedence.
func TestOutOfHours(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, monday.Add(10*time.Hour), object{"greetingMessage": "Welcome", "outOfHoursMessage": "We open at 8."})
	require.Equal(t, []string{"Welcome"}, room.say("Hi"), "a company without hours is always open")
	room.change(object{"status": "open"})
	room.OK(200, "PUT", "/company", object{"schedules": []object{{"weekdayEn": "monday", "startTime": "08:00", "endTime": "18:00"}, {"weekdayEn": "tuesday", "startTime": "08:00", "endTime": "18:00"}}})
	require.Equal(t, []string{"We open at 8."}, room.say("Still there?", "Hello?"), "19 on Monday, also in an open ticket")
	room.Advance(11 * time.Hour)
	require.Empty(t, room.say("Hello?"), "6 on Tuesday: less than twelve hours")
	room.Advance(2*time.Hour + 30*time.Minute)
	require.Empty(t, room.say("Good morning"), "it is open")
	room.Advance(10 * time.Hour)
	require.Equal(t, []string{"We open at 8."}, room.say("Late again"))

	// A new contact at night is greeted in the morning.
	room.phone, room.seen = room.AddPhone("Bruno"), 0
	require.Equal(t, []string{"We open at 8."}, room.say("Hi"))
	room.OK(200, "PUT", "/company", object{"schedules": []object{}})
	require.Equal(t, []string{"Welcome"}, room.say("Anybody?"))

	// The queue is closed on Tuesdays, the company is open.
	night := room.addQueue(object{"name": "Night", "color": "#00f", "outOfHoursMessage": "Night opens on Sunday.", "greetingMessage": "Night here", "schedules": []object{{"weekdayEn": "sunday", "startTime": "20:00", "endTime": "24:00"}}})
	room.set(object{"queueIds": []int64{night}})
	room.phone, room.seen = room.AddPhone("Carla"), 0
	require.Equal(t, []string{"Night opens on Sunday."}, room.say("Hi", "Hello?"))
	require.EqualValues(t, night, room.Tickets("searchParam=" + room.phone)[0]["queueId"])
}

// The hours of a connection's only queue count from a contact's first message on: no menu asks
// for it. Without hours of its own the company's count.
func TestOutOfHoursOfOnlyQueue(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, monday, object{"greetingMessage": "Welcome", "outOfHoursMessage": "We are closed."})
	room.OK(200, "PUT", "/company", object{"schedules": []object{{"weekdayEn": "sunday", "startTime": "08:00", "endTime": "18:00"}}})
	open := []object{{"weekdayEn": "monday", "startTime": "00:00", "endTime": "24:00"}}
	queue := room.addQueue(object{"name": "Sales", "color": "#00f", "greetingMessage": "Sales here", "schedules": open})
	path := fmt.Sprintf("/queue/%d", queue)
	room.set(object{"queueIds": []int64{queue}})
	require.Equal(t, []string{"Sales here"}, room.say("Hi", "Are you there?"), "the queue is open, the company is closed")
	require.EqualValues(t, queue, room.ticket()["queueId"])

	closed := []object{{"weekdayEn": "tuesday", "startTime": "08:00", "endTime": "18:00"}}
	room.OK(200, "PUT", path, object{"schedules": closed})
	room.phone, room.seen = room.AddPhone("Bruno"), 0
	require.Equal(t, []string{"We are closed."}, room.say("Hi", "Hello?"))
	require.EqualValues(t, queue, room.Tickets("searchParam=" + room.phone)[0]["queueId"])
	room.OK(200, "PUT", path, object{"outOfHoursMessage": "Sales opens on Tuesday."})
	room.phone, room.seen = room.AddPhone("Carla"), 0
	require.Equal(t, []string{"Sales opens on Tuesday."}, room.say("Hi", "Hello?"))

	// A queue without hours of its own greets once the company is open.
	room.OK(200, "PUT", path, object{"schedules": []object{}})
	room.phone, room.seen = room.AddPhone("Davi"), 0
	require.Equal(t, []string{"Sales opens on Tuesday."}, room.say("Hi"))
	room.OK(200, "PUT", "/company", object{"schedules": open})
	require.Equal(t, []string{"Sales here"}, room.say("Hello?"))

	// The contact answers what the company wrote first: nothing has put the ticket in the queue.
	room.OK(200, "PUT", "/company", object{"schedules": closed})
	room.OK(200, "PUT", path, object{"schedules": open})
	room.phone, room.seen = room.AddPhone("Eva"), 0
	room.As(room.APIToken()).OK(200, "POST", "/api/messages/send", object{"number": room.phone, "body": "Your order is here."})
	require.Equal(t, []string{"Your order is here."}, room.say("Thanks"))
	room.OK(200, "PUT", messagingtest.TicketPath(room.Tickets("searchParam=" + room.phone)[0]), object{"status": "open"})
	room.OK(200, "PUT", "/company", object{"schedules": open})
	room.OK(200, "PUT", path, object{"schedules": closed})
	require.Equal(t, []string{"Sales opens on Tuesday."}, room.say("Hello?"), "the company is open, the queue is closed")
	room.OK(200, "PUT", "/company", object{"schedules": closed})

	// With several queues, and none chosen, the company's count.
	room.OK(200, "PUT", path, object{"schedules": open})
	room.set(object{"queueIds": []int64{queue, room.addQueue(object{"name": "Support", "color": "#0f0", "schedules": open})}})
	room.phone, room.seen = room.AddPhone("Fay"), 0
	require.Equal(t, []string{"We are closed."}, room.say("Hi"))
}

func TestOptOut(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, monday, object{"greetingMessage": "Welcome"})
	consent := func() any {
		return room.Get("/contacts?searchParam=" + room.phone)["contacts"].([]any)[0].(object)["consent"]
	}
	require.Equal(t, []string{"Welcome"}, room.say("START"), "nothing to undo")
	require.Equal(t, "unknown", consent())
	confirmations := room.say("sair")
	require.Len(t, confirmations, 1)
	require.Contains(t, confirmations[0], "VOLTAR")
	require.Equal(t, "opted_out", consent())
	require.Empty(t, room.say("SAIR", "Parar!"), "one confirmation")
	confirmations = room.say("Voltar")
	require.Len(t, confirmations, 1)
	require.Equal(t, "opted_in", consent())
	room.OK(200, "PUT", "/company", object{"optOutWords": []string{"basta"}})
	require.Empty(t, room.say("SAIR"))
	require.Equal(t, "opted_in", consent())
	require.Len(t, room.say("Basta"), 1)
	require.Equal(t, "opted_out", consent())
	room.Advance(3 * time.Hour)
	room.change(object{"status": "closed"})
	room.Advance(3 * time.Hour)
	require.Empty(t, room.say("Hi"), "no greeting any more")

	// Programs send nothing to it; users answer for a day.
	program := room.As(room.APIToken())
	program.Refused(400, "ERR_OPTED_OUT", "POST", "/api/messages/send", object{"number": room.phone, "body": "Offer"})
	path := messagingtest.TicketPath(room.Tickets("status=pending")[0])
	room.OK(201, "POST", path+"/messages", object{"body": "You asked?"})
	require.Equal(t, []string{"You asked?"}, room.received())
	room.Advance(24 * time.Hour)
	room.Refused(400, "ERR_OPTED_OUT", "POST", path+"/messages", object{"body": "Hello?"})
	room.OK(201, "POST", path+"/messages", object{"body": "Gone", "isPrivate": true})
	require.Empty(t, room.received())
}

// Two machines that answer each other end.
func TestMachineAnswers(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, monday, object{"greetingMessage": "Welcome"})
	received := 0
	for range 20 {
		received += len(room.say("SAIR", "VOLTAR"))
	}
	require.Equal(t, 30, received, "automatic messages in an hour")
	contact := func() object {
		return room.Get("/contacts?searchParam=" + room.phone)["contacts"].([]any)[0].(object)
	}
	require.Equal(t, "opted_in", contact()["consent"], "the wish counts, confirmed or not")
	room.Advance(time.Hour)
	require.Len(t, room.say("SAIR"), 1, "an hour later")
	require.Equal(t, "opted_out", contact()["consent"])
}

func TestRating(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, monday, object{"farewellMessage": "Bye", "ratingMessage": "1 to 5?"})
	room.say("Hi", "5")
	require.Nil(t, room.ticket()["rating"], "nobody asked")
	room.change(object{"status": "open"})
	room.change(object{"status": "closed"})
	require.Equal(t, []string{"Bye", "1 to 5?"}, room.received())
	room.Advance(5 * time.Hour)
	require.Empty(t, room.say("4"))
	rated := room.ticket()
	require.Equal(t, []any{"closed", 4.0, 0.0}, []any{rated["status"], rated["rating"], rated["unreadMessages"]})
	require.EqualValues(t, 5, room.Get(messagingtest.TicketPath(rated) + "/messages")["count"], "the answer is kept")
	room.say("4")
	require.Len(t, room.Tickets(""), 2, "a second number is a message")

	// A late number begins the conversation again.
	path := room.closeTicketOf("Bruno")
	room.Advance(25 * time.Hour)
	room.say("5")
	require.Equal(t, "pending", room.Tickets("searchParam=" + room.phone)[0]["status"])
	room.say("5")
	require.Nil(t, room.Get(path)["rating"])
}

// closeTicketOf makes a ticket of another contact, closes it, and returns its path.
func (r *chatRoom) closeTicketOf(name string) (path string) {
	r.T.Helper()
	r.phone, r.seen = r.AddPhone(name), 0
	r.say("Hi")
	path = messagingtest.TicketPath(r.Tickets("searchParam=" + r.phone)[0])
	r.OK(200, "PUT", path, object{"status": "closed"})
	return path
}

// Who thanks before the rating begins the conversation again; a number is the rating until a user
// accepts that, or something else is asked.
func TestRatingAfterThanks(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, monday, object{"ratingMessage": "1 to 5?"})
	for name, tc := range map[string]struct {
		reopenMinutes int
		between       func(path string) // after the contact has written
		want          any
	}{
		"the ticket is opened again": {60, nil, 5.0},
		"there is a new ticket":      {0, nil, 5.0},
		"a user has accepted it":     {60, func(path string) { room.OK(200, "PUT", path, object{"status": "open"}) }, nil},
		"a user has accepted it and returned it": {60, func(path string) {
			room.OK(200, "PUT", path, object{"status": "open"})
			room.OK(200, "PUT", path, object{"status": "pending"})
		}, nil},
		"a program has asked something": {60, func(string) {
			room.As(room.APIToken()).OK(200, "POST", "/api/messages/send", object{"number": room.phone, "body": "Morning (1) or afternoon (2)?"})
		}, nil},
		"a day has passed": {60, func(string) { room.Advance(25 * time.Hour) }, nil},
	} {
		room.OK(200, "PUT", "/company", object{"reopenMinutes": tc.reopenMinutes})
		path := room.closeTicketOf("Carla")
		room.Advance(time.Minute)
		room.say("Obrigado!")
		latest := messagingtest.TicketPath(room.Tickets("searchParam=" + room.phone)[0])
		require.Equal(t, tc.reopenMinutes > 0, latest == path, name)
		if tc.between != nil {
			tc.between(latest)
		}
		status := room.Get(latest)["status"]
		room.say("5️⃣")
		require.Equal(t, tc.want, room.Get(path)["rating"], name)
		require.Equal(t, status, room.Get(latest)["status"], name)
		require.NotZero(t, room.Get(latest)["unreadMessages"], "the thanks wait for a user: %s", name)
	}
}

// An answer counts although the network's clock is a little late, or altogether wrong. What was
// written before the menu came is none.
func TestAnswersByAnotherClock(t *testing.T) {
	t.Parallel()
	for older, isAnswer := range map[time.Duration]bool{2 * time.Second: true, 3 * time.Second: false, 5 * time.Minute: false, 5*time.Minute + time.Second: true} {
		room := newChatRoom(t, monday, object{"greetingMessage": "Welcome"})
		sales := room.addQueue(object{"name": "Sales", "color": "#00f", "orderQueue": 1})
		room.set(object{"queueIds": []int64{sales, room.addQueue(object{"name": "Support", "color": "#0f0"})}})
		require.Len(t, room.say("Hi"), 1)
		room.Hub.Clock.Advance(-older)
		room.SendFromPhone(room.phone, room.connection, "1")
		room.Hub.Clock.Advance(older)
		require.Equal(t, isAnswer, room.ticket()["queueId"] == float64(sales), older)
	}
}

// A ticket that nobody accepts goes to the transfer queue.
func TestTransfer(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, monday, object{})
	queue := room.addQueue(object{"name": "Everybody", "color": "#00f"})
	room.set(object{"transferQueueId": queue, "timeToTransfer": 30})
	room.say("Hi")
	accepted := room.AddPhone("Bruno")
	room.SendFromPhone(accepted, room.connection, "Hi")
	bruno := messagingtest.TicketPath(room.Tickets("searchParam=" + accepted)[0])
	room.OK(200, "PUT", bruno, object{"status": "open"})
	room.Advance(29 * time.Minute)
	room.RunJob("waiting-tickets")
	require.Nil(t, room.Tickets("searchParam=" + room.phone)[0]["queueId"])
	room.Advance(2 * time.Minute)
	room.untilJob("waiting-tickets", func() bool { return room.Tickets("searchParam=" + room.phone)[0]["queueId"] == float64(queue) })
	require.Nil(t, room.Get(bruno)["queueId"], "it has an owner")
}

// A ticket is closed whose contact does not answer; not the one of a contact who waits.
func TestExpiredTickets(t *testing.T) {
	t.Parallel()
	room := newChatRoom(t, monday, object{"expiresTicket": 60, "expiresInactiveMessage": "We close, {{firstName}}.", "farewellMessage": "Bye"})
	room.say("Hi")
	waiting := room.AddPhone("Bruno")
	room.SendFromPhone(waiting, room.connection, "Hi")
	path := messagingtest.TicketPath(room.Tickets("searchParam=" + room.phone)[0])
	room.OK(200, "PUT", path, object{"status": "open"})
	room.OK(201, "POST", path+"/messages", object{"body": "Which color?"})
	room.OK(201, "POST", path+"/messages", object{"body": "Nothing yet", "isPrivate": true})
	require.Equal(t, []string{"Which color?"}, room.received())
	room.Advance(59 * time.Minute)
	room.RunJob("waiting-tickets")
	require.Equal(t, "open", room.Get(path)["status"])
	room.Advance(2 * time.Minute)
	room.untilJob("waiting-tickets", func() bool { return room.Get(path)["status"] == "closed" })
	require.Equal(t, []string{"We close, Ana."}, room.received(), "in place of the farewell")
	require.Equal(t, "pending", room.Tickets("searchParam=" + waiting)[0]["status"], "the company owes the answer")
}
