// Package calendar writes iCalendar files (RFC 5545, methods of RFC 5546) for
// appointments. It is pure.
package calendar

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Method is what the receiver does with the calendar.
type Method string

// The supported methods of RFC 5546.
const (
	Publish Method = "PUBLISH" // take note: downloads and feeds
	Request Method = "REQUEST" // put it into the calendar, or change what is there
	Cancel  Method = "CANCEL"  // take it out
)

// MediaType returns the media type of the file, for downloads and attachments.
func (m Method) MediaType() string { return "text/calendar; charset=utf-8; method=" + string(m) }

// Calendar is one .ics file.
type Calendar struct {
	Method Method
	Name   string // of a feed, for people; "" = none
	Events []Event
}

// Event is an appointment. A change keeps the UID and raises the Sequence.
type Event struct {
	UID         string // the same for ever, unique in the world
	Sequence    int
	Stamp       time.Time // of this version
	Start, End  time.Time // in the zone of the place, by its IANA name; others are written as UTC
	Summary     string
	Description string
	Location    string
	URL         string
	Organizer   Person // Request and Cancel need one
	Attendee    Person // likewise
	Cancelled   bool   // in feeds; with [Cancel] every event is
}

// Person is an e-mail address with a name.
type Person struct {
	Name  string
	Email string // "" = none
}

// Bytes returns the file: lines of at most 75 octets, ended by CRLF.
func (c Calendar) Bytes() []byte {
	var w writer
	w.writeLine("BEGIN", "VCALENDAR")
	w.writeLine("VERSION", "2.0")
	w.writeLine("PRODID", "-//Integration Hub//Scheduling//EN")
	w.writeLine("CALSCALE", "GREGORIAN")
	w.writeLine("METHOD", string(c.Method))
	if c.Name != "" {
		w.writeText("NAME", c.Name)         // RFC 7986
		w.writeText("X-WR-CALNAME", c.Name) // what came before it, and most programs read
	}
	for _, zone := range zonesOf(c.Events) {
		w.writeZone(zone)
	}
	for _, event := range c.Events {
		w.writeEvent(event, c.Method == Cancel)
	}
	w.writeLine("END", "VCALENDAR")
	return w.out.Bytes()
}

// writer collects content lines.
type writer struct{ out bytes.Buffer }

func (w *writer) writeEvent(event Event, cancel bool) {
	w.writeLine("BEGIN", "VEVENT")
	w.writeLine("UID", escapeText(event.UID))
	w.writeLine("DTSTAMP", event.Stamp.UTC().Format(formUTC))
	w.writeLine("SEQUENCE", fmt.Sprint(event.Sequence))
	w.writeTime("DTSTART", event.Start)
	w.writeTime("DTEND", event.End)
	w.writeText("SUMMARY", event.Summary)
	w.writeText("DESCRIPTION", event.Description)
	w.writeText("LOCATION", event.Location)
	if event.URL != "" {
		w.writeLine("URL", stripControls(event.URL))
	}
	w.writePerson("ORGANIZER", "", event.Organizer)
	w.writePerson("ATTENDEE", ";ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;RSVP=FALSE", event.Attendee)
	status := "CONFIRMED"
	if cancel || event.Cancelled {
		status = "CANCELLED"
	}
	w.writeLine("STATUS", status)
	w.writeLine("END", "VEVENT")
}

// writeText writes a property of type TEXT, and nothing for "".
func (w *writer) writeText(name, value string) {
	if value != "" {
		w.writeLine(name, escapeText(value))
	}
}

// writePerson writes a calendar user. The name is a quoted parameter and cannot contain
// quotes.
func (w *writer) writePerson(name, parameters string, person Person) {
	if person.Email == "" {
		return
	}
	if common := strings.ReplaceAll(stripControls(person.Name), `"`, "'"); common != "" {
		parameters += `;CN="` + common + `"`
	}
	w.writeLine(name+parameters, "mailto:"+strings.ReplaceAll(stripControls(person.Email), " ", "%20"))
}

// Time formats (RFC 5545, 3.3.5).
const (
	formUTC   = "20060102T150405Z"
	formLocal = "20060102T150405"
)

// writeTime writes a time in its zone. The second pass of a repeated hour has no local
// form, so it is written as UTC.
func (w *writer) writeTime(name string, t time.Time) {
	if !hasZoneName(t) || isRepeatedHour(t) {
		w.writeLine(name, t.UTC().Format(formUTC))
		return
	}
	w.writeLine(name+";TZID="+t.Location().String(), t.Format(formLocal))
}

// hasZoneName reports whether a time's zone has an IANA name.
func hasZoneName(t time.Time) bool { return strings.Contains(t.Location().String(), "/") }

// isRepeatedHour reports whether clocks showed the same time before, at a larger offset.
func isRepeatedHour(t time.Time) bool {
	began, _ := t.ZoneBounds()
	if began.IsZero() {
		return false
	}
	return t.Sub(began) < time.Duration(utcOffsetSeconds(began.Add(-time.Second))-utcOffsetSeconds(t))*time.Second
}

func utcOffsetSeconds(t time.Time) int {
	_, seconds := t.Zone()
	return seconds
}

// zone is a VTIMEZONE to write, with the range of times it must cover.
type zone struct {
	loc      *time.Location
	from, to time.Time
}

// zonesOf returns each zone of the events' times once.
func zonesOf(events []Event) []zone {
	var list []zone
	for _, event := range events {
		for _, t := range []time.Time{event.Start, event.End} {
			if !hasZoneName(t) {
				continue
			}
			i := slices.IndexFunc(list, func(z zone) bool { return z.loc.String() == t.Location().String() })
			if i < 0 {
				list = append(list, zone{t.Location(), t, t})
				continue
			}
			if t.Before(list[i].from) {
				list[i].from = t
			}
			if t.After(list[i].to) {
				list[i].to = t
			}
		}
	}
	return list
}

// writeZone writes the offsets in force during the range, each with its start. The
// first one starts in 1970 where its start is unknown.
func (w *writer) writeZone(z zone) {
	w.writeLine("BEGIN", "VTIMEZONE")
	w.writeLine("TZID", z.loc.String())
	for t := z.from.In(z.loc); ; {
		began, ended := t.ZoneBounds()
		since, before := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), utcOffsetSeconds(t)
		if !began.IsZero() {
			before = utcOffsetSeconds(began.Add(-time.Second))
			since = began.UTC().Add(time.Duration(before) * time.Second) // the wall clock just before
		}
		kind := "STANDARD"
		if t.IsDST() {
			kind = "DAYLIGHT"
		}
		w.writeLine("BEGIN", kind)
		w.writeLine("DTSTART", since.Format(formLocal))
		w.writeLine("TZOFFSETFROM", formatUTCOffset(before))
		w.writeLine("TZOFFSETTO", formatUTCOffset(utcOffsetSeconds(t)))
		name, _ := t.Zone()
		w.writeLine("TZNAME", escapeText(name))
		w.writeLine("END", kind)
		if ended.IsZero() || ended.After(z.to) {
			break
		}
		t = ended
	}
	w.writeLine("END", "VTIMEZONE")
}

// formatUTCOffset formats an offset, with seconds if it has some (3.3.14).
func formatUTCOffset(seconds int) string {
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	text := fmt.Sprintf("%c%02d%02d", sign, seconds/3600, seconds/60%60)
	if rest := seconds % 60; rest != 0 {
		text += fmt.Sprintf("%02d", rest)
	}
	return text
}

// maxLineOctets is the length limit of a line without its end (3.1).
const maxLineOctets = 75

// writeLine writes one content line, folded between characters.
func (w *writer) writeLine(name, value string) {
	rest, available := name+":"+value, maxLineOctets
	for len(rest) > available {
		cut := available
		for !utf8.RuneStart(rest[cut]) {
			cut--
		}
		w.out.WriteString(rest[:cut])
		w.out.WriteString("\r\n ")
		rest, available = rest[cut:], maxLineOctets-1
	}
	w.out.WriteString(rest)
	w.out.WriteString("\r\n")
}

// escapeText escapes a value of type TEXT (3.3.11).
func escapeText(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`).Replace(stripControls(line))
	}
	return strings.Join(lines, `\n`)
}

// stripControls removes control characters, which no value may contain, and invalid
// UTF-8.
func stripControls(text string) string {
	return strings.Map(func(char rune) rune {
		if char < ' ' && char != '\t' || char >= 0x7F && char < 0xA0 {
			return -1
		}
		return char
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
