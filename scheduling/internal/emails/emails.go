// Package emails renders e-mails and short messages in the languages of the service. It
// is pure. templates/ has one file per language.
package emails

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"time"

	"integrationhub/hub/module/email"
	"integrationhub/scheduling/internal/booking"
)

// Kind is the kind of an e-mail.
type Kind string

// The kinds of e-mails. StaffBooked, StaffCancelled, StaffRescheduled and
// AmbiguousErasure go to the organization, the others to clients.
const (
	Received         Kind = "received"  // a booking to be confirmed
	Confirmed        Kind = "confirmed" // a booking
	Deposit          Kind = "deposit"   // a booking with a deposit due
	Cancelled        Kind = "cancelled"
	Rescheduled      Kind = "moved"
	Reminder         Kind = "reminder"
	ReminderMessage  Kind = "message" // a reminder in one line
	Waitlist         Kind = "waitlist"
	StaffBooked      Kind = "staff_booked"
	StaffCancelled   Kind = "staff_cancelled"
	StaffRescheduled Kind = "staff_moved"
	Campaign         Kind = "campaign"         // to inactive clients
	CampaignMessage  Kind = "campaign_message" // the same in one line
	AmbiguousErasure Kind = "unclear"          // which client is a deleted patient
)

// Data is the data of the templates. Empty fields are left out of the text.
type Data struct {
	Business        string
	Address         string // the organization's address
	Phone           string // the organization's
	Client          string
	Service         string
	Professional    string
	Start           time.Time // in the organization's zone
	PreviousStart   time.Time // before rescheduling
	TwelveHours     bool      // how times of day are written
	Amount          string    // of the deposit, with its currency
	DepositDeadline time.Time // of the deposit
	PixCode         string    // Pix copy and paste
	Reason          string
	Link            string // to change or cancel; to book
	Reference       string // of a request elsewhere
	Message         string // of a campaign; "" = the standard text
	UnsubscribeURL  string // link to withdraw marketing consent
	EmailWithheld   bool   // the client was not written to: the address got too many e-mails
	ClientIDs       []string
	Unsure          string // why it is not sure which client a deleted patient is; see store.AmbiguousErasure
}

// Email is a rendered e-mail.
type Email struct{ Subject, Text, HTML string }

// language has the names and formats of dates.
type language struct {
	tag           string
	weekdays      [7]string // Sunday first
	months        [12]string
	dateFormat    string // of a day
	timeSeparator string // between a day and a time
}

//go:embed templates/*.txt
var files embed.FS

// languageFor returns the language of a locale such as pt-BR. Unknown locales get
// Portuguese.
func languageFor(locale string) language {
	tag, _, _ := strings.Cut(strings.ToLower(locale), "-")
	switch tag {
	case "en":
		return language{
			tag:        tag,
			weekdays:   [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
			months:     [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
			dateFormat: "{weekday}, {month} {day}, {year}", timeSeparator: " at ",
		}
	case "es":
		return language{
			tag:        tag,
			weekdays:   [7]string{"domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"},
			months:     [12]string{"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"},
			dateFormat: "{weekday}, {day} de {month} de {year}", timeSeparator: " a las ",
		}
	}
	return language{
		tag:        "pt",
		weekdays:   [7]string{"domingo", "segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado"},
		months:     [12]string{"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"},
		dateFormat: "{weekday}, {day} de {month} de {year}", timeSeparator: " às ",
	}
}

// Render renders an e-mail in the language of a locale.
func Render(kind Kind, locale string, data Data) (Email, error) {
	lang := languageFor(locale)
	templates, err := template.New(lang.tag).Funcs(template.FuncMap{
		"when":       func(t time.Time) string { return lang.formatTime(t, data.TwelveHours) },
		"whenInZone": func(t time.Time) string { return lang.formatTimeInZone(t, data.TwelveHours) },
	}).
		Option("missingkey=error").ParseFS(files, "templates/"+lang.tag+".txt")
	if err != nil {
		return Email{}, fmt.Errorf("parsing the templates of %s: %w", lang.tag, err)
	}
	var parts [2]strings.Builder
	for i, part := range []string{".subject", ".text"} {
		if err := templates.ExecuteTemplate(&parts[i], string(kind)+part, data); err != nil {
			return Email{}, fmt.Errorf("rendering an e-mail: %w", err)
		}
	}
	text := collapseBlankLines(parts[1].String())
	return Email{Subject: strings.TrimSpace(parts[0].String()), Text: text, HTML: email.RenderHTML(lang.tag, text)}, nil
}

// formatTime formats a time: segunda-feira, 2 de março de 2026 às 09:00.
func (l language) formatTime(t time.Time, use12Hours bool) string {
	if t.IsZero() {
		return ""
	}
	clock := t.Format("15:04")
	if use12Hours {
		clock = t.Format("3:04 PM")
	}
	day := strings.NewReplacer(
		"{weekday}", l.weekdays[t.Weekday()], "{day}", fmt.Sprint(t.Day()), "{month}", l.months[t.Month()-1], "{year}", fmt.Sprint(t.Year()),
	).Replace(l.dateFormat)
	return day + l.timeSeparator + clock
}

// formatTimeInZone adds the UTC offset: … às 09:00 (GMT−3).
func (l language) formatTimeInZone(t time.Time, use12Hours bool) string {
	if t.IsZero() {
		return ""
	}
	return l.formatTime(t, use12Hours) + " (" + booking.FormatOffset(t) + ")"
}

// FormatTime formats a time in the language of a locale, as the templates do.
func FormatTime(locale string, t time.Time, use12Hours bool) string {
	return languageFor(locale).formatTime(t, use12Hours)
}

var blankLines = regexp.MustCompile(`\n{3,}`)

// collapseBlankLines removes the blank lines that omitted parts leave.
func collapseBlankLines(text string) string {
	return blankLines.ReplaceAllString(strings.TrimSpace(text), "\n\n") + "\n"
}
