package chat_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
)

func TestTextsOfAppointments(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 9, 5, 0, 0, time.UTC) // a Monday
	for locale, want := range map[string]string{
		"pt-BR": "seg 02/03 às 09:05 com Bia", "en-US": "Mon 2 Mar at 09:05 with Bia", "EN": "Mon 2 Mar at 09:05 with Bia", "es": "lun 02/03 a las 09:05 con Bia",
		"": "seg 02/03 às 09:05 com Bia", "fr-FR": "seg 02/03 às 09:05 com Bia", "english": "seg 02/03 às 09:05 com Bia",
	} {
		require.Equal(t, want, chat.TextsOf(locale).FormatOffer(at, "Bia"), locale)
	}
	texts := chat.TextsOf("en")
	require.Equal(t, "Sun 1 Mar at 00:00", texts.FormatTime(at.Add(-33*time.Hour-5*time.Minute)))
	require.Equal(t, "Mon 2 Mar at 09:05", texts.FormatOffer(at, ""), "an unknown professional")
}

func TestFormatBooking(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	booked := chat.Booking{Service: "Haircut", StartAt: at}
	withDeposit, withPix := booked, booked
	withDeposit.Deposit, withDeposit.DepositUntil = "R$ 20", at.Add(-time.Hour)
	withPix.PixCode = "000201"
	withAll := withDeposit
	withAll.Professional, withAll.PixCode, withAll.ManageURL = "Bia", "000201", "https://hub.example.com/x"
	for want, booking := range map[string]chat.Booking{
		"Booked: Haircut, Mon 2 Mar at 09:00.": booked,
		"Booked: Haircut, Mon 2 Mar at 09:00.\nTo keep it, pay the deposit of R$ 20 by Mon 2 Mar at 08:00 with Pix:":                                                                     withDeposit,
		"Booked: Haircut with Bia, Mon 2 Mar at 09:00.\nTo keep it, pay the deposit of R$ 20 by Mon 2 Mar at 08:00 with Pix:\n000201\nTo change or cancel it: https://hub.example.com/x": withAll,
	} {
		require.Equal(t, want, chat.TextsOf("en").FormatBooking(booking))
	}
	require.Equal(t, "Booked: Haircut, Mon 2 Mar at 09:00.", chat.TextsOf("en").FormatBooking(withPix), "no deposit is due")
}

func TestAppointmentQuestions(t *testing.T) {
	t.Parallel()
	first := chat.AppointmentQuestion{Title: "Haircut, Mon 09:00", Locale: "en", FirstOption: 1}
	second := chat.AppointmentQuestion{Locale: "en", FirstOption: 3}
	require.Equal(t, "1 - Confirm\n2 - Cancel", first.FormatQuestion(), "the reminder above it has the title")
	require.Equal(t, "Which one? Answer with the number:\n\n1 - Confirm: Haircut, Mon 09:00\n2 - Cancel: Haircut, Mon 09:00\n3 - Confirm\n4 - Cancel",
		chat.AskWhich([]chat.AppointmentQuestion{second, first}))
	for text, want := range map[string]struct {
		answer   chat.AppointmentAnswer
		byNumber bool
	}{
		"3": {chat.AnswerConfirm, true}, " 4. ": {chat.AnswerCancel, true}, "3)": {chat.AnswerConfirm, true}, "4 - cancel": {chat.AnswerCancel, true},
		"confirm!": {chat.AnswerConfirm, false}, "CANCEL": {chat.AnswerCancel, false}, "Yes": {chat.AnswerConfirm, false},
		"1": {}, "2": {}, "3 -": {}, "no": {}, "sim": {}, "": {},
	} {
		answer, byNumber := second.Answer(text)
		require.Equal(t, want.answer, answer, text)
		require.Equal(t, want.byNumber, byNumber, text)
	}
}

func TestFreeOption(t *testing.T) {
	t.Parallel()
	require.Equal(t, 1, chat.FreeOption(nil))
	require.Equal(t, 1, chat.FreeOption([]int{3}))
	require.Equal(t, 5, chat.FreeOption([]int{3, 1}))
}

func TestOfferMenu(t *testing.T) {
	t.Parallel()
	require.Equal(t, []chat.MenuOption{{Title: "Others", Option: "0"}}, chat.OfferMenu(nil, "Others"))
	offers := []chat.MenuOption{{ID: 0, Title: "09:00", Option: "1"}, {ID: 1, Title: "10:00", Option: "2"}}
	require.Equal(t, offers, chat.OfferMenu([]string{"09:00", "10:00"}, ""))
	require.Equal(t, append(offers, chat.MenuOption{ID: 2, Title: "Others", Option: "0"}), chat.OfferMenu([]string{"09:00", "10:00"}, "Others"))
}
