package autoreply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// reminded is a contact's phone beside a scheduling product that reminds it.
type reminded struct {
	*chatRoom
	calendar *messagingtest.Calendar
	until    time.Time
}

func newReminded(t *testing.T) *reminded {
	t.Helper()
	room := newChatRoom(t, monday, object{})
	return &reminded{room, room.ConnectCalendar("Corte"), monday.Add(24 * time.Hour)}
}

// remind sends a reminder and returns what the phone got.
func (r *reminded) remind(id, title string) []string {
	r.T.Helper()
	r.calendar.Open(id)
	r.calendar.Remind(r.phone, id, title, r.until)
	return r.received()
}

// answer sends texts from the phone, lets the calls be made, and returns what the phone got.
func (r *reminded) answer(texts ...string) []string {
	r.T.Helper()
	got := r.say(texts...)
	r.finishCalls()
	return append(got, r.received()...)
}

// finishCalls waits until no call to the scheduling product is due.
func (r *reminded) finishCalls() {
	r.T.Helper()
	r.untilJob("appointment-calls", func() bool {
		return r.Hub.Count("messaging.appointment_calls where due_at <= $1 or leased_until > $1", r.Hub.Clock.Now()) == 0
	})
}

func TestAnswerToReminder(t *testing.T) {
	t.Parallel()
	r := newReminded(t)
	require.Equal(t, []string{"Reminder: Corte, 9h\n\n1 - Confirmar\n2 - Cancelar"}, r.remind("a-1", "Corte, 9h"))
	require.Equal(t, []string{"Confirmado: Corte, 9h."}, r.answer("1"))
	require.Equal(t, "confirm", r.calendar.State("a-1"))
	require.Zero(t, r.ticket()["unreadMessages"], "people have nothing to do")
	require.Equal(t, []string{"Já está confirmado: Corte, 9h."}, r.answer("sim"))
	require.Len(t, r.calendar.Actions(), 1)
	r.calendar.Open("a-1") // a confirmed appointment can be cancelled
	require.Equal(t, []string{"Cancelado: Corte, 9h."}, r.answer("2."))
	require.Equal(t, "cancel", r.calendar.State("a-1"))
	require.Equal(t, object{"appointment_id": "a-1", "phone": "+" + r.phone}, r.calendar.Actions()[1])
	require.Equal(t, []string{"Já está cancelado: Corte, 9h."}, r.answer("2"))
	require.Equal(t, []string{"Este horário foi cancelado. Vamos responder por aqui para encontrar outro."}, r.answer("1"))
	require.Len(t, r.calendar.Actions(), 2)
	require.EqualValues(t, 1, r.ticket()["unreadMessages"], "people answer that")
	require.Empty(t, r.answer("3", "2 people", "Where are you?"), "other messages are for people")
}

// With two open reminders each has its own numbers; a word without one asks which is meant.
func TestAnswersToTwoReminders(t *testing.T) {
	t.Parallel()
	r := newReminded(t)
	r.remind("a-1", "Corte, 9h")
	require.Equal(t, []string{"Reminder: Barba, 10h\n\n3 - Confirmar\n4 - Cancelar"}, r.remind("a-2", "Barba, 10h"))
	require.Equal(t, []string{"Qual deles? Responda com o número:\n\n1 - Confirmar: Corte, 9h\n2 - Cancelar: Corte, 9h\n3 - Confirmar: Barba, 10h\n4 - Cancelar: Barba, 10h"}, r.answer("cancelar"))
	require.Empty(t, r.calendar.Actions())
	require.Equal(t, []string{"Cancelado: Corte, 9h."}, r.answer("2"))
	require.Equal(t, []string{"cancel", "open"}, []string{r.calendar.State("a-1"), r.calendar.State("a-2")})
	require.Equal(t, []string{"Confirmado: Barba, 10h."}, r.answer("sim"), "the only one that is open")
	require.Equal(t, []string{"Reminder: Unha, 11h\n\n1 - Confirmar\n2 - Cancelar"}, r.remind("a-3", "Unha, 11h"))
	require.Equal(t, []string{"Cancelado: Unha, 11h."}, r.answer("2"), "not the one that is cancelled")
	// A later reminder of the same appointment keeps its numbers.
	require.Equal(t, []string{"Reminder: Barba, 10h\n\n3 - Confirmar\n4 - Cancelar"}, r.remind("a-2", "Barba, 10h"))
}

// A number is no answer once people or programs have written something else, or a menu; a
// reply to the reminder is one.
func TestNumberThatAnswersSomethingElse(t *testing.T) {
	t.Parallel()
	r := newReminded(t)
	require.Empty(t, r.answer("2"), "an answer to nothing")
	r.remind("a-1", "Corte, 9h")
	r.change(object{"status": "open"})
	r.OK(201, "POST", messagingtest.TicketPath(r.ticket())+"/messages", object{"body": "How many are you?"})
	r.received()
	require.Empty(t, r.answer("2"))
	require.Equal(t, "open", r.calendar.State("a-1"))
	inbox := r.Get("/sandbox/phones/" + r.phone + "/inbox")["messages"].([]any)
	reminder := inbox[0].(object)["id"]
	r.OK(201, "POST", "/sandbox/phones/"+r.phone+"/send", object{"to": r.connection.Number, "body": "2", "quotedId": reminder})
	r.finishCalls()
	require.Equal(t, []string{"Cancelado: Corte, 9h."}, r.received())
}

func TestLateAnswer(t *testing.T) {
	t.Parallel()
	r := newReminded(t)
	r.until = monday.Add(time.Hour)
	r.remind("a-1", "Corte, 9h")
	r.Advance(time.Hour)
	require.Equal(t, []string{"Já passou do prazo para mudar este horário por aqui. Vamos responder assim que possível."}, r.answer("2"))
	require.Equal(t, "open", r.calendar.State("a-1"))
	require.EqualValues(t, 1, r.ticket()["unreadMessages"])
	r.Advance(25 * time.Hour)
	require.Empty(t, r.answer("2"))

	// What the scheduling product refuses is left to people too.
	r.until = r.Hub.Clock.Now().Add(time.Hour)
	r.calendar.Remind(r.phone, "unknown", "Barba", r.until)
	r.received()
	require.Equal(t, []string{"Este horário não pode mais ser alterado por aqui. Vamos responder assim que possível."}, r.answer("1"))
}

// A scheduling product that is away is called again for two minutes; then people take over. An
// answer counts once, however often the call is made.
func TestAnswerWhilePeerIsAway(t *testing.T) {
	t.Parallel()
	r := newReminded(t)
	r.remind("a-1", "Corte, 9h")
	r.calendar.Fail(503, 429)
	require.Empty(t, r.answer("2", "2"))
	r.Hub.Clock.Advance(2 * time.Second)
	r.finishCalls()
	require.Equal(t, "open", r.calendar.State("a-1"))
	r.Hub.Clock.Advance(6 * time.Second)
	r.finishCalls()
	require.Equal(t, "open", r.calendar.State("a-1"), "Retry-After is 7 s")
	r.Hub.Clock.Advance(time.Second)
	r.finishCalls()
	require.Equal(t, "cancel", r.calendar.State("a-1"))
	require.Equal(t, []string{"Cancelado: Corte, 9h."}, r.received())

	r.remind("a-2", "Barba, 10h")
	r.calendar.Fail(503, 503, 503, 503, 503, 503, 503, 503, 503, 503)
	r.answer("1")
	for range 130 {
		r.Hub.Clock.Advance(time.Second)
		r.finishCalls()
	}
	require.Equal(t, []string{"Não conseguimos consultar a agenda agora. Uma pessoa vai responder por aqui."}, r.received())
	require.EqualValues(t, 2, r.ticket()["unreadMessages"])
	require.Equal(t, "open", r.calendar.State("a-2"))
}

// Questions are for keys of connected products, and end with the contact.
func TestQuestionsOfReminders(t *testing.T) {
	t.Parallel()
	r := newReminded(t)
	question := object{"id": "a-1", "title": "Corte", "locale": "pt-BR", "until": r.until.Format(time.RFC3339)}
	message := func(change object) object {
		changed := object{}
		for name, value := range question {
			changed[name] = value
		}
		for name, value := range change {
			changed[name] = value
		}
		return object{"number": r.phone, "body": "Reminder", "appointment": changed}
	}
	r.As(r.APIToken()).Refused(400, "ERR_VALIDATION", "POST", "/api/messages/send", message(nil))
	peer := r.As(r.calendar.Key)
	for _, change := range []object{{"until": "2026-01-01T00:00:00Z"}, {"until": "2036-01-01T00:00:00Z"}, {"id": ""}, {"title": longText(201)}} {
		peer.Refused(400, "ERR_VALIDATION", "POST", "/api/messages/send", message(change))
	}
	long := message(nil)
	long["body"] = longText(3997)
	peer.Refused(400, "ERR_VALIDATION", "POST", "/api/messages/send", long)
	require.Empty(t, r.received())
	english := message(object{"locale": "en-US"})
	peer.OK(200, "POST", "/api/messages/send", english)
	require.Equal(t, []string{"Reminder\n\n1 - Confirm\n2 - Cancel"}, r.received())
	r.OK(200, "POST", "/contacts/"+messagingtest.Path("", r.ticket()["contact"].(object))[1:]+"/anonymize", nil)
	require.Zero(t, r.Hub.Count("messaging.appointment_questions"))
}

func longText(length int) string { return strings.Repeat("x", length) }
