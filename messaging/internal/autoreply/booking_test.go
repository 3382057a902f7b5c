package autoreply_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// newBookingRoom is a room whose only queue has a menu with a booking of a service; "" lets
// the contact choose.
func newBookingRoom(t *testing.T, service string, services ...string) *reminded {
	t.Helper()
	room := newChatRoom(t, monday, object{})
	option := object{"title": "Agendar", "action": "book", "message": "Um momento."}
	if service != "" {
		option["service"] = service
	}
	queue := room.addQueue(object{"name": "Reception", "color": "#00f", "greetingMessage": "Welcome", "options": []object{option, {"title": "Hours", "message": "8 to 18"}}})
	room.set(object{"queueIds": []int64{queue}})
	return &reminded{room, room.ConnectCalendar(services...), time.Time{}}
}

// at is a time in São Paulo, hours after Tuesday 9:00.
func at(hours int) time.Time {
	return monday.Add(24 * time.Hour).Add(time.Duration(hours) * time.Hour).In(time.FixedZone("", -3*3600))
}

const greeting = "Welcome\n\n1 - Agendar\n2 - Hours"

func TestBookingInChat(t *testing.T) {
	t.Parallel()
	r := newBookingRoom(t, "", "Corte", "Barba")
	r.calendar.Free(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7))
	require.Equal(t, []string{greeting}, r.answer("Hi"))
	require.Equal(t, []string{"Um momento.", "O que você quer agendar? Responda com o número:\n\n1 - Corte\n2 - Barba"}, r.answer("1"))
	times := r.answer("barba")
	require.Equal(t, []string{"Horários livres para Barba. Responda com o número:\n\n1 - ter 02/03 às 09:00 com Ana\n2 - ter 02/03 às 10:00 com Ana\n3 - ter 02/03 às 11:00 com Ana\n4 - ter 02/03 às 12:00 com Ana\n5 - ter 02/03 às 13:00 com Ana\n6 - ter 02/03 às 14:00 com Ana\n0 - Outros horários"}, times)
	require.Equal(t, times, r.answer("nine o'clock"), "a wrong answer")
	require.Equal(t, []string{"Horários livres para Barba. Responda com o número:\n\n1 - ter 02/03 às 15:00 com Ana\n2 - ter 02/03 às 16:00 com Ana"}, r.answer("0"))
	require.Equal(t, []string{"Agendado: Barba com Ana, ter 02/03 às 16:00.\nPara alterar ou cancelar: https://studio.example/cancel"}, r.answer("2"))
	require.Equal(t, 1, r.calendar.Bookings())
	booked := r.calendar.Actions()[0]
	require.Equal(t, []any{"+" + r.phone, "Ana Souza", "service-Barba", "ana", "2027-03-02T16:00:00-03:00"}, []any{booked["phone"], booked["name"], booked["service_id"], booked["professional_id"], booked["start_at"]})
	require.Equal(t, false, r.ticket()["chatbot"])
	require.Empty(t, r.answer("2"), "people answer now")
	require.Equal(t, 1, r.calendar.Bookings())
	require.Zero(t, r.Hub.Count("messaging.booking_chats"))
}

// Two contacts want the same time: one gets it, the other a polite refusal with other times.
func TestTwoContactsWantOneTime(t *testing.T) {
	t.Parallel()
	r := newBookingRoom(t, "corte", "Corte", "Barba")
	r.calendar.Free(at(0), at(1))
	first, second := r.phone, r.AddPhone("Bruno")
	for _, phone := range []string{first, second} {
		r.phone, r.seen = phone, 0
		require.Equal(t, []string{greeting}, r.answer("Hi"))
		require.Equal(t, []string{"Um momento.", "Horários livres para Corte. Responda com o número:\n\n1 - ter 02/03 às 09:00 com Ana\n2 - ter 02/03 às 10:00 com Ana"}, r.answer("1"))
	}
	require.Equal(t, []string{"Esse horário acabou de ser ocupado. Horários livres para Corte. Responda com o número:\n\n1 - ter 02/03 às 10:00 com Ana"}, func() []string {
		r.Hub.Clock.Advance(10 * time.Second)
		r.SendFromPhone(first, r.connection, "1")
		return r.answer("1")
	}())
	require.Equal(t, 1, r.calendar.Bookings())
	require.Equal(t, []string{"Agendado: Corte com Ana, ter 02/03 às 10:00.\nPara alterar ou cancelar: https://studio.example/cancel"}, r.answer("1"))
	require.Equal(t, 2, r.calendar.Bookings())
	// Then there are none.
	r.phone, r.seen = r.AddPhone("Carla"), 0
	r.answer("Hi")
	require.Equal(t, []string{"Um momento.", "Não há horários livres no momento. Uma pessoa vai responder por aqui."}, r.answer("1"))
}

// A booking whose answer was lost is made once. While the scheduling product is away, and
// where there is none, people take over.
func TestBookingWhilePeerIsAway(t *testing.T) {
	t.Parallel()
	r := newBookingRoom(t, "", "Corte")
	r.calendar.Free(at(0), at(1))
	r.answer("Hi", "1")
	r.calendar.Fail(504)
	require.Empty(t, r.answer("1"))
	r.Hub.Clock.Advance(2 * time.Second)
	r.finishCalls()
	require.Len(t, r.received(), 1)
	actions := r.calendar.Actions()
	require.Len(t, actions, 2)
	require.Equal(t, actions[0], actions[1], "the same source_id")
	require.Equal(t, 1, r.calendar.Bookings())

	r.phone, r.seen = r.AddPhone("Bruno"), 0
	r.answer("Hi", "1")
	r.calendar.Fail(504, 504, 504, 504, 504, 504, 504, 504, 504, 504)
	r.answer("1")
	for range 130 {
		r.Hub.Clock.Advance(time.Second)
		r.finishCalls()
	}
	require.Equal(t, []string{"Não conseguimos consultar a agenda agora. Uma pessoa vai responder por aqui."}, r.received())
	ticket := r.Tickets("searchParam=" + r.phone)[0]
	require.Equal(t, false, ticket["chatbot"])
	messages := r.Get(messagingtest.TicketPath(ticket) + "/messages")["messages"].([]any)
	require.Equal(t, "The scheduling product did not respond: Corte, ter 02/03 às 10:00 com Ana may have been booked. Look before booking again.", messages[len(messages)-2].(object)["body"])

	// A user who accepts the ticket ends the booking.
	r.calendar.Fail()
	r.phone, r.seen = r.AddPhone("Carla"), 0
	r.answer("Hi", "1")
	r.OK(200, "PUT", messagingtest.TicketPath(r.Tickets("searchParam=" + r.phone)[0]), object{"status": "open"})
	require.Empty(t, r.answer("1"))
	require.Equal(t, 1, r.calendar.Bookings())

	alone := newChatRoom(t, monday, object{})
	alone.set(object{"queueIds": []int64{alone.addQueue(object{"name": "Reception", "color": "#00f", "options": []object{{"title": "Agendar", "action": "book"}}})}})
	none := &reminded{chatRoom: alone}
	none.answer("Hi")
	require.Equal(t, []string{"Não conseguimos consultar a agenda agora. Uma pessoa vai responder por aqui."}, none.answer("1"))
}

// Wrong answers within seconds after a booking's menu count, without the menu again.
func TestFastWrongAnswersInBooking(t *testing.T) {
	t.Parallel()
	r := newBookingRoom(t, "", "Corte")
	r.calendar.Free(at(0), at(1))
	r.answer("Hi", "1")
	for _, text := range []string{"x", "y", "z"} {
		require.Equal(t, true, r.ticket()["chatbot"])
		r.Hub.Clock.Advance(800 * time.Millisecond)
		r.SendFromPhone(r.phone, r.connection, text)
		require.Empty(t, r.received())
	}
	require.Equal(t, false, r.ticket()["chatbot"], "people answer now")
}
