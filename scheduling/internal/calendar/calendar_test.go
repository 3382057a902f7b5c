package calendar_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/calendar"
)

func place(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

func TestCalendarBytes(t *testing.T) {
	t.Parallel()
	paulo := place(t, "America/Sao_Paulo")
	got := string(calendar.Calendar{Method: calendar.Request, Events: []calendar.Event{{
		UID: "019bd2a4@hub.example.com", Sequence: 2, Stamp: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Start: time.Date(2026, 3, 2, 9, 0, 0, 0, paulo), End: time.Date(2026, 3, 2, 10, 0, 0, 0, paulo),
		Summary: "Corte; com a Bia, na Clínica São João", Description: "Traga:\r\n- documento\\RG\n- paciência", Location: "Rua A, 1",
		URL:       "https://hub.example.com/book/studio/cancel?token=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,b;c",
		Organizer: calendar.Person{Name: `Studio "Açaí": corte`, Email: "studio@example.com"}, Attendee: calendar.Person{Email: "caio@example.com"},
	}}}.Bytes())
	want := `BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Integration Hub//Scheduling//EN
CALSCALE:GREGORIAN
METHOD:REQUEST
BEGIN:VTIMEZONE
TZID:America/Sao_Paulo
BEGIN:STANDARD
DTSTART:20190217T000000
TZOFFSETFROM:-0200
TZOFFSETTO:-0300
TZNAME:-03
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
UID:019bd2a4@hub.example.com
DTSTAMP:20260301T120000Z
SEQUENCE:2
DTSTART;TZID=America/Sao_Paulo:20260302T090000
DTEND;TZID=America/Sao_Paulo:20260302T100000
SUMMARY:Corte\; com a Bia\, na Clínica São João
DESCRIPTION:Traga:\n- documento\\RG\n- paciência
LOCATION:Rua A\, 1
URL:https://hub.example.com/book/studio/cancel?token=aaaaaaaaaaaaaaaaaaaaaa
 aaaaaaaaaaaaaaaaaaaaaa,b;c
ORGANIZER;CN="Studio 'Açaí': corte":mailto:studio@example.com
ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;RSVP=FALSE:mailto:caio@exam
 ple.com
STATUS:CONFIRMED
END:VEVENT
END:VCALENDAR
`
	require.Equal(t, strings.ReplaceAll(want, "\n", "\r\n"), got)
	require.Equal(t, "text/calendar; charset=utf-8; method=REQUEST", calendar.Request.MediaType())
}

// property is a content line taken apart.
type property struct{ name, parameters, value string }

// parse unfolds and splits by the grammar of RFC 5545, 3.1.
func parse(t *testing.T, raw []byte) []property {
	t.Helper()
	text := string(raw)
	require.True(t, utf8.ValidString(text))
	require.True(t, strings.HasSuffix(text, "\r\n"))
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n") {
		require.LessOrEqual(t, len(line), 75, line)
		require.True(t, utf8.ValidString(line), "%q is cut inside a character", line)
		require.NotContains(t, line, "\n")
		require.NotContains(t, line, "\r")
	}
	var list []property
	for line := range strings.SplitSeq(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n ", ""), "\r\n"), "\r\n") {
		quoted, end := false, -1
		for i, char := range line {
			if char == '"' {
				quoted = !quoted
			}
			if char == ':' && !quoted {
				end = i
				break
			}
		}
		require.Positive(t, end, line)
		name, parameters, _ := strings.Cut(line[:end], ";")
		require.Regexp(t, `^[A-Z-]+$`, name)
		list = append(list, property{name, parameters, line[end+1:]})
	}
	return list
}

func values(list []property, name string) []string {
	var found []string
	for _, prop := range list {
		if prop.name == name {
			found = append(found, prop.value)
		}
	}
	return found
}

func TestCancelAndFeeds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	event := calendar.Event{UID: "u", Stamp: at, Start: at, End: at.Add(time.Hour), Summary: "S"}
	list := parse(t, calendar.Calendar{Method: calendar.Cancel, Events: []calendar.Event{event}}.Bytes())
	require.Equal(t, []string{"CANCEL"}, values(list, "METHOD"))
	require.Equal(t, []string{"CANCELLED"}, values(list, "STATUS"))
	require.Equal(t, []string{"20260302T120000Z"}, values(list, "DTSTART"))
	require.Empty(t, values(list, "TZID"), "UTC needs no zone")
	require.Empty(t, values(list, "ORGANIZER"))
	gone := event
	gone.UID, gone.Cancelled = "v", true
	list = parse(t, calendar.Calendar{Method: calendar.Publish, Name: "Bia, professora", Events: []calendar.Event{event, gone}}.Bytes())
	require.Equal(t, []string{"CONFIRMED", "CANCELLED"}, values(list, "STATUS"))
	require.Equal(t, []string{`Bia\, professora`}, values(list, "X-WR-CALNAME"))
	fixed := event
	fixed.Start = at.In(time.FixedZone("", -3*3600))
	list = parse(t, calendar.Calendar{Method: calendar.Publish, Events: []calendar.Event{fixed}}.Bytes())
	require.Equal(t, []string{"20260302T120000Z"}, values(list, "DTSTART"), "an offset without a name")
	require.Equal(t, "BEGIN:VCALENDAR", strings.SplitN(string(calendar.Calendar{Method: calendar.Publish}.Bytes()), "\r\n", 2)[0])
}

// instant is what a reader makes of a local time and a VTIMEZONE (3.6.5): the offset
// is that of the observance that began last, by the wall clock before it.
func instant(t *testing.T, list []property, prop property) time.Time {
	t.Helper()
	if strings.HasSuffix(prop.value, "Z") {
		at, err := time.Parse("20060102T150405Z", prop.value)
		require.NoError(t, err)
		return at
	}
	tzid, found := strings.CutPrefix(prop.parameters, "TZID=")
	require.True(t, found)
	local, err := time.Parse("20060102T150405", prop.value)
	require.NoError(t, err)
	var best time.Time
	to, here, known := 0, false, false
	var began time.Time
	for _, q := range list {
		switch q.name {
		case "TZID":
			here = q.value == tzid
		case "DTSTART":
			if q.parameters == "" && here {
				began, err = time.Parse("20060102T150405", q.value)
				require.NoError(t, err)
			}
		case "TZOFFSETTO":
			if here && !began.After(local) && (!known || began.After(best)) {
				best, to, known = began, seconds(t, q.value), true
			}
		case "END":
			here = here && q.value != "VTIMEZONE"
		}
	}
	require.True(t, known, "no observance for %s", prop.value)
	return local.Add(-time.Duration(to) * time.Second)
}

func seconds(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text[1:5])
	require.NoError(t, err)
	total := n/100*3600 + n%100*60
	if len(text) == 7 {
		rest, err := strconv.Atoi(text[5:])
		require.NoError(t, err)
		total += rest
	}
	if text[0] == '-' {
		return -total
	}
	return total
}

// Whoever reads the file by the letter of the standard gets the very instants, on
// days when clocks change too.
func TestInstantsSurvive(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"America/Sao_Paulo", "America/New_York", "Europe/Lisbon", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "Europe/Dublin", "America/St_Johns", "Asia/Tokyo"}
	var events []calendar.Event
	add := func(start time.Time, length time.Duration) {
		events = append(events, calendar.Event{UID: fmt.Sprint(len(events)), Stamp: start, Start: start, End: start.Add(length)})
	}
	for _, name := range names {
		zone := place(t, name)
		for range 40 {
			add(time.Unix(1_500_000_000+random.Int64N(600_000_000), 0).In(zone), time.Duration(random.Int64N(86400))*time.Second)
		}
		for at := time.Date(2015, 1, 1, 0, 0, 0, 0, zone); at.Year() < 2030; { // around every change
			_, at = at.ZoneBounds()
			if at.IsZero() {
				break
			}
			for minutes := -150; minutes <= 150; minutes += 30 {
				add(at.Add(time.Duration(minutes)*time.Minute), 45*time.Minute)
			}
		}
	}
	for _, batch := range [][]calendar.Event{events[:1], events, events[100:101], events[len(events)-50:]} {
		list := parse(t, calendar.Calendar{Method: calendar.Publish, Events: batch}.Bytes())
		var got []time.Time
		inside := false
		for _, prop := range list {
			inside = inside && prop.value != "VEVENT" || prop.name == "BEGIN" && prop.value == "VEVENT"
			if inside && (prop.name == "DTSTART" || prop.name == "DTEND") {
				got = append(got, instant(t, list, prop))
			}
		}
		require.Len(t, got, 2*len(batch))
		for i, event := range batch {
			require.True(t, got[2*i].Equal(event.Start), "%s read as %s", event.Start, got[2*i])
			require.True(t, got[2*i+1].Equal(event.End), "%s read as %s", event.End, got[2*i+1])
		}
	}
}

// The second pass of a repeated hour has no local form. All other times have one.
func TestRepeatedHourIsUTC(t *testing.T) {
	t.Parallel()
	york := place(t, "America/New_York")
	changed := time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC) // 02:00 becomes 01:00
	for offset, want := range map[time.Duration]string{
		-time.Hour:              "20261101T010000",
		-time.Second:            "20261101T015959",
		0:                       "20261101T060000Z",
		time.Hour - time.Second: "20261101T065959Z",
		time.Hour:               "20261101T020000",
	} {
		at := changed.Add(offset).In(york)
		event := calendar.Event{UID: "u", Stamp: at, Start: at, End: changed.Add(24 * time.Hour)}
		list := parse(t, calendar.Calendar{Method: calendar.Publish, Events: []calendar.Event{event}}.Bytes())
		starts := values(list, "DTSTART")
		require.Equal(t, want, starts[len(starts)-1], offset)
	}
}

// The standard has no offset of -0000 (RFC 5545, 3.3.14).
func TestOffsets(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Europe/Lisbon": "+0000", "Asia/Kolkata": "+0530", "America/St_Johns": "-0330"} {
		at := time.Date(2026, 1, 2, 12, 0, 0, 0, place(t, name))
		list := parse(t, calendar.Calendar{Method: calendar.Publish, Events: []calendar.Event{{UID: "u", Stamp: at, Start: at, End: at}}}.Bytes())
		require.Equal(t, []string{want}, values(list, "TZOFFSETTO"), name)
	}
}

// A line of 75 octets is whole, and so is a continuation of 75 with its blank.
func TestFolding(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for length, want := range map[int]string{
		67:      strings.Repeat("a", 67),
		68:      strings.Repeat("a", 67) + "\r\n a",
		67 + 74: strings.Repeat("a", 67) + "\r\n " + strings.Repeat("a", 74),
		67 + 75: strings.Repeat("a", 67) + "\r\n " + strings.Repeat("a", 74) + "\r\n a",
	} {
		event := calendar.Event{UID: "u", Stamp: at, Start: at, End: at, Summary: strings.Repeat("a", length)}
		got := string(calendar.Calendar{Method: calendar.Publish, Events: []calendar.Event{event}}.Bytes())
		require.Contains(t, got, "\r\nSUMMARY:"+want+"\r\n", length)
	}
}

func TestControlCharactersAreRemoved(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	event := calendar.Event{UID: "u", Stamp: at, Start: at, End: at, Summary: "a\x00\x1f \t~\x7f\u0080\u009f\u00a0b"}
	list := parse(t, calendar.Calendar{Method: calendar.Publish, Events: []calendar.Event{event}}.Bytes())
	require.Equal(t, []string{"a \t~\u00a0b"}, values(list, "SUMMARY"))
}

// Nothing that is typed becomes a property.
func FuzzCalendar(f *testing.F) {
	f.Add("a", "BEGIN:VEVENT\r\nUID:x\r\n", "x\"y:z;w", "a\rb\nc\x00d\u2028e\xff")
	f.Add(strings.Repeat("ç", 100), strings.Repeat("\\,;", 50), strings.Repeat("日", 60), "\t")
	f.Fuzz(func(t *testing.T, summary, description, name, address string) {
		at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
		event := calendar.Event{UID: summary, Stamp: at, Start: at, End: at, Summary: summary, Description: description, Location: name, URL: address,
			Organizer: calendar.Person{Name: name, Email: address}, Attendee: calendar.Person{Name: address, Email: "x" + name}}
		list := parse(t, calendar.Calendar{Method: calendar.Publish, Name: name, Events: []calendar.Event{event}}.Bytes())
		require.Equal(t, []string{"VCALENDAR", "VEVENT"}, values(list, "BEGIN"))
		require.Len(t, values(list, "UID"), 1)
		require.LessOrEqual(t, len(list), 22)
		for _, prop := range list {
			for _, char := range prop.value + prop.parameters {
				require.True(t, char >= ' ' || char == '\t', "%q", prop)
			}
		}
	})
}
