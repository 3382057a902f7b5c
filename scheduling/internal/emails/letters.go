// Package emails writes what people are told by mail and message, in the languages
// that the service speaks. It is pure: words/ has the templates, one file for each
// language.
package emails

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"time"

	"integrationhub/hub/module/email"
)

// Kind is what a letter is about.
type Kind string

// The kinds of letters. Those with Staff and Unclear are for the organization, the others
// for clients.
const (
	Received        Kind = "received"  // a booking, which is still to be confirmed
	Confirmed       Kind = "confirmed" // a booking
	Deposit         Kind = "deposit"   // a booking whose deposit is to be paid
	Cancelled       Kind = "cancelled"
	Moved           Kind = "moved"
	Reminder        Kind = "reminder"
	Message         Kind = "message" // a reminder in one line
	Waitlist        Kind = "waitlist"
	StaffBooked     Kind = "staff_booked"
	StaffCancelled  Kind = "staff_cancelled"
	StaffMoved      Kind = "staff_moved"
	Campaign        Kind = "campaign"         // to clients who have not come for long
	CampaignMessage Kind = "campaign_message" // the same in one line
	Unclear         Kind = "unclear"          // whom the clinic deleted may be one of several clients
)

// Facts are what letters tell. What is empty is left out.
type Facts struct {
	Business     string
	Place        string // the organization's address
	Phone        string // the organization's
	Client       string
	Service      string
	Professional string
	Start        time.Time // in the organization's zone
	Before       time.Time // where it was moved from
	TwelveHours  bool      // how times of day are written
	Amount       string    // of the deposit, with its currency
	Until        time.Time // by when it is to be paid
	Code         string    // Pix copy and paste
	Reason       string
	Link         string // to change or cancel; to book
	Reference    string // of a request elsewhere
	Message      string // of a campaign; "" = words of ours
	Leave        string // link with which clients leave the list
	List         []string
}

// Letter is what is sent.
type Letter struct{ Subject, Text, HTML string }

// language is a language's words.
type language struct {
	tag      string
	weekdays [7]string // Sunday first
	months   [12]string
	form     string // of a day
	at       string // between a day and a time
}

//go:embed words/*.txt
var files embed.FS

// of finds the language of a locale such as pt-BR; Portuguese where there are no
// words for it.
func of(locale string) language {
	tag, _, _ := strings.Cut(strings.ToLower(locale), "-")
	switch tag {
	case "en":
		return language{
			tag:      tag,
			weekdays: [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
			months:   [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
			form:     "{weekday}, {month} {day}, {year}", at: " at ",
		}
	case "es":
		return language{
			tag:      tag,
			weekdays: [7]string{"domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"},
			months:   [12]string{"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"},
			form:     "{weekday}, {day} de {month} de {year}", at: " a las ",
		}
	}
	return language{
		tag:      "pt",
		weekdays: [7]string{"domingo", "segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado"},
		months:   [12]string{"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"},
		form:     "{weekday}, {day} de {month} de {year}", at: " às ",
	}
}

// Write writes a letter in the language of a locale.
func Write(k Kind, locale string, f Facts) (Letter, error) {
	l := of(locale)
	words, err := template.New(l.tag).Funcs(template.FuncMap{"when": func(t time.Time) string { return l.when(t, f.TwelveHours) }}).
		Option("missingkey=error").ParseFS(files, "words/"+l.tag+".txt")
	if err != nil {
		return Letter{}, fmt.Errorf("reading the words of %s: %w", l.tag, err)
	}
	var parts [2]strings.Builder
	for i, part := range []string{".subject", ".text"} {
		if err := words.ExecuteTemplate(&parts[i], string(k)+part, f); err != nil {
			return Letter{}, fmt.Errorf("writing a letter: %w", err)
		}
	}
	text := tidy(parts[1].String())
	return Letter{Subject: strings.TrimSpace(parts[0].String()), Text: text, HTML: email.RenderHTML(l.tag, text)}, nil
}

// when writes a moment: segunda-feira, 2 de março de 2026 às 09:00.
func (l language) when(t time.Time, twelve bool) string {
	if t.IsZero() {
		return ""
	}
	clock := t.Format("15:04")
	if twelve {
		clock = t.Format("3:04 PM")
	}
	day := strings.NewReplacer(
		"{weekday}", l.weekdays[t.Weekday()], "{day}", fmt.Sprint(t.Day()), "{month}", l.months[t.Month()-1], "{year}", fmt.Sprint(t.Year()),
	).Replace(l.form)
	return day + l.at + clock
}

var blankLines = regexp.MustCompile(`\n{3,}`)

// tidy takes out the lines that what was left out leaves empty.
func tidy(text string) string {
	return blankLines.ReplaceAllString(strings.TrimSpace(text), "\n\n") + "\n"
}
