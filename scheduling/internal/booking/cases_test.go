package booking

import (
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// caseFile is testdata/availability.json.
type caseFile struct {
	Cases []availabilityCase `json:"cases"`
}

type availabilityCase struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Timezone   string          `json:"timezone"`
	Rules      []caseRule      `json:"rules"`
	Exceptions []caseException `json:"exceptions"`
	Booked     []caseBooked    `json:"appointments"`
	Service    struct {
		ID       string `json:"id"`
		Duration int    `json:"duration_minutes"`
	} `json:"service"`
	Override *struct {
		Duration *int   `json:"custom_duration"`
		Price    *Cents `json:"custom_price"`
	} `json:"override"`
	Settings struct {
		Policy
		Capacity int `json:"capacity"`
	} `json:"settings"`
	Now      time.Time  `json:"now"`
	Date     string     `json:"date"`
	Expected []caseSlot `json:"expected_slots"`
}

type caseRule struct {
	Weekday    int     `json:"day_of_week"`
	Start      string  `json:"start_time"`
	End        string  `json:"end_time"`
	BreakStart *string `json:"break_start"`
	BreakEnd   *string `json:"break_end"`
	Active     bool    `json:"is_active"`
}

type caseException struct {
	Date  string  `json:"date"`
	Start *string `json:"start_time"`
	End   *string `json:"end_time"`
	Kind  string  `json:"exception_type"`
}

type caseBooked struct {
	Start        time.Time `json:"start_at"`
	End          time.Time `json:"end_at"`
	Status       Status    `json:"status"`
	Professional string    `json:"professional"`
	Service      string    `json:"service"`
}

type caseSlot struct {
	Start   string `json:"start"`
	End     string `json:"end"`
	StartAt string `json:"start_at"`
	EndAt   string `json:"end_at"`
}

// professional is the one all cases ask about.
const professional = "P1"

func named(name string) uuid.UUID { return uuid.NewSHA1(uuid.Nil, []byte(name)) }

func clockOf(t testing.TB, text string) TimeOfDay {
	t.Helper()
	clock, err := ParseTimeOfDay(text)
	require.NoError(t, err)
	return clock
}

func dateOf(t testing.TB, text string) Date {
	t.Helper()
	date, err := ParseDate(text)
	require.NoError(t, err)
	return date
}

// zones keeps what was loaded: reading a zone's file takes longer than a test.
var zones sync.Map

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location)
	}
	loc, err := time.LoadLocation(name)
	require.NoError(t, err)
	zones.Store(name, loc)
	return loc
}

func (c *availabilityCase) calendar(t *testing.T) Calendar {
	t.Helper()
	service := Service{ID: named(c.Service.ID), DurationMinutes: c.Service.Duration, Capacity: c.Settings.Capacity}
	var override Override
	if c.Override != nil {
		override = Override{DurationMinutes: c.Override.Duration, Price: c.Override.Price}
	}
	calendar := Calendar{
		Professional: named(professional),
		Offer:        NewOffer(service, override, c.Settings.Policy),
		MaxPerDay:    c.Settings.MaxPerDay(nil),
	}
	for _, r := range c.Rules {
		rule := Rule{Weekday: r.Weekday, Start: clockOf(t, r.Start), End: clockOf(t, r.End), Active: r.Active}
		if r.BreakStart != nil {
			rule.Break = &Break{clockOf(t, *r.BreakStart), clockOf(t, *r.BreakEnd)}
		}
		calendar.Rules = append(calendar.Rules, rule)
	}
	for _, e := range c.Exceptions {
		exception := Exception{Date: dateOf(t, e.Date), Kind: ExceptionKind(e.Kind)}
		if e.Start != nil {
			exception.Hours = &Hours{clockOf(t, *e.Start), clockOf(t, *e.End)}
		}
		calendar.Exceptions = append(calendar.Exceptions, exception)
	}
	for _, a := range c.Booked {
		if a.Professional == professional && a.Status.Blocks() {
			calendar.Busy = append(calendar.Busy, Busy{
				Start: a.Start, End: a.End, Service: named(a.Service),
				BufferBefore: calendar.Offer.BufferBefore, BufferAfter: calendar.Offer.BufferAfter,
			})
		}
	}
	return calendar
}

func readCases(t testing.TB) []availabilityCase {
	t.Helper()
	raw, err := os.ReadFile("testdata/availability.json")
	require.NoError(t, err)
	var file caseFile
	require.NoError(t, json.Unmarshal(raw, &file))
	require.NotEmpty(t, file.Cases)
	return file.Cases
}

func inCaseForm(slots []Slot) []caseSlot {
	out := []caseSlot{}
	for _, slot := range slots {
		out = append(out, caseSlot{
			Start: slot.Start.Format("15:04"), End: slot.End.Format("15:04"),
			// Not RFC 3339 by name: it would write UTC as Z.
			StartAt: slot.Start.Format("2006-01-02T15:04:05-07:00"), EndAt: slot.End.Format("2006-01-02T15:04:05-07:00"),
		})
	}
	return out
}

func TestAvailabilityCases(t *testing.T) {
	t.Parallel()
	for _, test := range readCases(t) {
		t.Run(test.ID+" "+test.Name, func(t *testing.T) {
			t.Parallel()
			loc, date := zoneOf(t, test.Timezone), dateOf(t, test.Date)
			limits := test.Settings.PublicLimits(test.Now, loc)
			calendars := []Calendar{test.calendar(t)}
			slots := FreeSlots(loc, limits, date, calendars)
			require.Equal(t, test.Expected, inCaseForm(slots))

			// The whole month around it agrees, whatever its other days hold.
			first, last, err := ParseMonth(test.Date[:7])
			require.NoError(t, err)
			for _, free := range freeDays(t, loc, limits, first, last, calendars) {
				require.Len(t, FreeSlots(loc, limits, free.Date, calendars), free.Free, free.Date)
				if free.Date == date && free.Free > 0 {
					require.Equal(t, test.Expected[0].StartAt, inCaseForm([]Slot{{Start: free.First}})[0].StartAt)
				}
			}
		})
	}
}
