package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AppointmentTexts are the sentences about appointments in one language.
type AppointmentTexts struct {
	Confirm, Cancel                                string   // titles of the answers
	Yes                                            []string // further words that confirm
	Which                                          string   // before the answers to several questions
	Confirmed, Cancelled                           string   // with the appointment
	AlreadyConfirmed, AlreadyCancelled             string   // with the appointment
	WasCancelled, TooLate, NotPossible, PeopleHelp string
	ChooseService, ChooseTime, OtherTimes          string
	NoTimes, TimeTaken                             string
	Booked                                         string // with service, professional and time
	ManageLink                                     string // with the address
	Deposit                                        string // with amount and time
	weekdays                                       [7]string
	date                                           string // of [time.Time.Format]
	at, with                                       string
}

// TextsOf returns the sentences in the language of a locale such as pt-BR. Unknown languages
// get Portuguese.
func TextsOf(locale string) AppointmentTexts {
	language, _, _ := strings.Cut(strings.ToLower(locale), "-")
	switch language {
	case "en":
		return AppointmentTexts{
			Confirm: "Confirm", Cancel: "Cancel", Yes: []string{"yes"}, Which: "Which one? Answer with the number:",
			Confirmed: "Confirmed: %s.", Cancelled: "Cancelled: %s.", AlreadyConfirmed: "It is confirmed already: %s.", AlreadyCancelled: "It is cancelled already: %s.",
			WasCancelled: "This appointment was cancelled. We will answer you here to find another time.", TooLate: "It is too late to change this appointment here. We will answer you as soon as possible.",
			NotPossible: "This appointment can no longer be changed here. We will answer you as soon as possible.", PeopleHelp: "We could not reach the calendar right now. Someone will answer you here.",
			ChooseService: "What would you like to book? Answer with the number:", ChooseTime: "Free times for %s. Answer with the number:", OtherTimes: "Other times",
			NoTimes: "There are no free times at the moment. Someone will answer you here.", TimeTaken: "This time has just been taken.",
			Booked: "Booked: %s%s, %s.", ManageLink: "To change or cancel it: %s", Deposit: "To keep it, pay the deposit of %s by %s with Pix:",
			weekdays: [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}, date: "2 Jan", at: " at ", with: " with ",
		}
	case "es":
		return AppointmentTexts{
			Confirm: "Confirmar", Cancel: "Cancelar", Yes: []string{"sí", "si"}, Which: "¿Cuál? Responda con el número:",
			Confirmed: "Confirmado: %s.", Cancelled: "Cancelado: %s.", AlreadyConfirmed: "Ya está confirmado: %s.", AlreadyCancelled: "Ya está cancelado: %s.",
			WasCancelled: "Esta cita fue cancelada. Le responderemos por aquí para buscar otra hora.", TooLate: "Ya es tarde para cambiar esta cita por aquí. Le responderemos lo antes posible.",
			NotPossible: "Esta cita ya no se puede cambiar por aquí. Le responderemos lo antes posible.", PeopleHelp: "No pudimos consultar la agenda ahora. Una persona le responderá por aquí.",
			ChooseService: "¿Qué desea reservar? Responda con el número:", ChooseTime: "Horarios libres para %s. Responda con el número:", OtherTimes: "Otros horarios",
			NoTimes: "No hay horarios libres por el momento. Una persona le responderá por aquí.", TimeTaken: "Ese horario acaba de ser reservado.",
			Booked: "Reservado: %s%s, %s.", ManageLink: "Para cambiar o cancelar: %s", Deposit: "Para mantenerla, pague la seña de %s hasta %s por Pix:",
			weekdays: [7]string{"dom", "lun", "mar", "mié", "jue", "vie", "sáb"}, date: "02/01", at: " a las ", with: " con ",
		}
	}
	return AppointmentTexts{
		Confirm: "Confirmar", Cancel: "Cancelar", Yes: []string{"sim"}, Which: "Qual deles? Responda com o número:",
		Confirmed: "Confirmado: %s.", Cancelled: "Cancelado: %s.", AlreadyConfirmed: "Já está confirmado: %s.", AlreadyCancelled: "Já está cancelado: %s.",
		WasCancelled: "Este horário foi cancelado. Vamos responder por aqui para encontrar outro.", TooLate: "Já passou do prazo para mudar este horário por aqui. Vamos responder assim que possível.",
		NotPossible: "Este horário não pode mais ser alterado por aqui. Vamos responder assim que possível.", PeopleHelp: "Não conseguimos consultar a agenda agora. Uma pessoa vai responder por aqui.",
		ChooseService: "O que você quer agendar? Responda com o número:", ChooseTime: "Horários livres para %s. Responda com o número:", OtherTimes: "Outros horários",
		NoTimes: "Não há horários livres no momento. Uma pessoa vai responder por aqui.", TimeTaken: "Esse horário acabou de ser ocupado.",
		Booked: "Agendado: %s%s, %s.", ManageLink: "Para alterar ou cancelar: %s", Deposit: "Para garantir o horário, pague o sinal de %s até %s pelo Pix:",
		weekdays: [7]string{"dom", "seg", "ter", "qua", "qui", "sex", "sáb"}, date: "02/01", at: " às ", with: " com ",
	}
}

// FormatTime returns a time as contacts read it: "seg 02/03 às 09:00".
func (t AppointmentTexts) FormatTime(at time.Time) string {
	return t.weekdays[at.Weekday()] + " " + at.Format(t.date) + t.at + at.Format("15:04")
}

// FormatOffer returns a time with its professional, who may be unknown.
func (t AppointmentTexts) FormatOffer(at time.Time, professional string) string {
	return t.FormatTime(at) + t.withName(professional)
}

func (t AppointmentTexts) withName(professional string) string {
	if professional == "" {
		return ""
	}
	return t.with + professional
}

// Booking is a booking as the confirmation in the chat describes it.
type Booking struct {
	Service, Professional string
	StartAt               time.Time
	ManageURL             string    // "" = none
	Deposit               string    // amount; "" = none is due
	DepositUntil          time.Time //
	PixCode               string    // "" = none
}

// FormatBooking returns the message that confirms a booking.
func (t AppointmentTexts) FormatBooking(b Booking) string {
	lines := []string{fmt.Sprintf(t.Booked, b.Service, t.withName(b.Professional), t.FormatTime(b.StartAt))}
	if b.Deposit != "" {
		lines = append(lines, fmt.Sprintf(t.Deposit, b.Deposit, t.FormatTime(b.DepositUntil)))
		if b.PixCode != "" {
			lines = append(lines, b.PixCode)
		}
	}
	if b.ManageURL != "" {
		lines = append(lines, fmt.Sprintf(t.ManageLink, b.ManageURL))
	}
	return strings.Join(lines, "\n")
}

// AppointmentQuestion is a question whether an appointment takes place.
type AppointmentQuestion struct {
	Title       string // service and time
	Locale      string
	FirstOption int // the number that confirms; the next one cancels
}

// FormatQuestion returns the menu below a reminder.
func (q AppointmentQuestion) FormatQuestion() string { return FormatMenu("", q.menu(false)) }

func (q AppointmentQuestion) menu(withTitle bool) []MenuOption {
	texts, title := TextsOf(q.Locale), ""
	if withTitle && q.Title != "" {
		title = ": " + q.Title
	}
	return []MenuOption{
		{Title: texts.Confirm + title, Option: strconv.Itoa(q.FirstOption)},
		{Title: texts.Cancel + title, Option: strconv.Itoa(q.FirstOption + 1)},
	}
}

// AskWhich returns the question which of several appointments an answer is about.
func AskWhich(questions []AppointmentQuestion) string {
	var menu []MenuOption
	for _, question := range slices.SortedFunc(slices.Values(questions), func(a, b AppointmentQuestion) int { return cmp.Compare(a.FirstOption, b.FirstOption) }) {
		menu = append(menu, question.menu(true)...)
	}
	return FormatMenu(TextsOf(questions[0].Locale).Which, menu)
}

// FreeOption returns the first number that no open question has; each has two.
func FreeOption(taken []int) int {
	for option := 1; ; option += 2 {
		if !slices.Contains(taken, option) {
			return option
		}
	}
}

// AppointmentAnswer is what a contact answers to a question.
type AppointmentAnswer int

// Answers to a question.
const (
	NoAnswer AppointmentAnswer = iota
	AnswerConfirm
	AnswerCancel
)

// Answer returns what a message answers to the question. byNumber is true if it names the
// question's own number.
func (q AppointmentQuestion) Answer(text string) (answer AppointmentAnswer, byNumber bool) {
	text = strings.Trim(strings.TrimSpace(text), ".!)")
	for i, option := range q.menu(false) {
		if text == option.Option || strings.EqualFold(text, option.Option+" - "+option.Title) {
			return AnswerConfirm + AppointmentAnswer(i), true
		}
		if strings.EqualFold(text, option.Title) {
			return AnswerConfirm + AppointmentAnswer(i), false
		}
	}
	if slices.ContainsFunc(TextsOf(q.Locale).Yes, func(word string) bool { return strings.EqualFold(text, word) }) {
		return AnswerConfirm, false
	}
	return NoAnswer, false
}

// OfferMenu returns a menu of offers, numbered from 1, with "other times" as 0 where there are
// more.
func OfferMenu(titles []string, more string) []MenuOption {
	menu := make([]MenuOption, 0, len(titles)+1)
	for i, title := range titles {
		menu = append(menu, MenuOption{ID: i, Title: title, Option: strconv.Itoa(i + 1)})
	}
	if more != "" {
		menu = append(menu, MenuOption{ID: len(titles), Title: more, Option: "0"})
	}
	return menu
}
