package booking

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// monday is 2 March 2026 in São Paulo, nine to one, an hour a slot.
type monday struct {
	loc    *time.Location
	date   Date
	limits Limits
	cal    Calendar
}

func setupMonday(t *testing.T) *monday {
	t.Helper()
	m := &monday{loc: zoneOf(t, "America/Sao_Paulo"), date: dateOf(t, "2026-03-02")}
	m.limits = StaffLimits(m.at("00:00"))
	m.cal = Calendar{
		Professional: named("P1"),
		Offer:        Offer{Service: named("S1"), Duration: time.Hour, Capacity: 1},
		Rules:        []Rule{{Weekday: 0, Start: 9 * 60, End: 13 * 60, Active: true}},
	}
	return m
}

// at is a time of that Monday.
func (m *monday) at(clock string) time.Time {
	t, err := time.ParseInLocation("2006-01-02 15:04", "2026-03-02 "+clock, m.loc)
	if err != nil {
		panic(err)
	}
	return t
}

// busy adds an appointment with the offer's buffers.
func (m *monday) busy(service, from, address string) {
	m.cal.Busy = append(m.cal.Busy, Busy{
		Start: m.at(from), End: m.at(address), Service: named(service),
		BufferBefore: m.cal.Offer.BufferBefore, BufferAfter: m.cal.Offer.BufferAfter,
	})
}

func (m *monday) starts() string {
	return starts(FreeSlots(m.loc, m.limits, m.date, []Calendar{m.cal}))
}

func starts(slots []Slot) string {
	out := ""
	for _, s := range slots {
		out += s.Start.Format(" 15:04")
		if s.Remaining > 1 {
			out += fmt.Sprintf("x%d", s.Remaining)
		}
	}
	return out
}

func TestBuffersOfBothNeighboursAddUp(t *testing.T) {
	t.Parallel()
	m := setupMonday(t)
	m.cal.Offer.Step = 15 * time.Minute
	m.cal.Offer.BufferBefore = 15 * time.Minute
	m.cal.Busy = []Busy{{Start: m.at("10:30"), End: m.at("11:00"), Service: named("S2"), BufferBefore: 10 * time.Minute, BufferAfter: 30 * time.Minute}}
	// Before it only its own buffer counts, after it its buffer and the slot's.
	require.Equal(t, " 09:00 09:15 11:45 12:00", m.starts())
	m.cal.Busy[0].BufferAfter = 31 * time.Minute
	m.cal.Busy[0].BufferBefore = 16 * time.Minute
	require.Equal(t, " 09:00 12:00", m.starts())
}

func TestBuffersReachBeyondTheWindowButNotIntoBlocks(t *testing.T) {
	t.Parallel()
	m := setupMonday(t)
	m.cal.Offer.BufferBefore, m.cal.Offer.BufferAfter = time.Hour, time.Hour
	m.cal.Exceptions = []Exception{{Date: m.date, Kind: Block, Hours: &Hours{10 * 60, 11 * 60}}}
	require.Equal(t, " 09:00 11:00 12:00", m.starts())
}

func TestMaxBookingsPerDay(t *testing.T) {
	t.Parallel()
	m := setupMonday(t)
	m.cal.MaxPerDay = 2
	m.busy("S2", "20:00", "21:00") // outside the hours, and counts
	require.Equal(t, " 09:00 10:00 11:00 12:00", m.starts())
	m.cal.Busy = append(m.cal.Busy, Busy{Start: m.at("00:00").Add(-time.Minute), End: m.at("00:30")}) // yesterday's
	require.Equal(t, " 09:00 10:00 11:00 12:00", m.starts())
	m.busy("S2", "09:00", "10:00")
	require.Equal(t, " 10:00 11:00 12:00", m.starts(), "staff know what they do")
	require.True(t, m.cal.Full(m.loc, m.date))
	require.False(t, m.cal.Full(m.loc, m.date+1))
	m.limits.FullDays = false
	require.Empty(t, m.starts())

	require.Equal(t, 3, Policy{MaxBookingsPerDay: ptr(5)}.MaxPerDay(ptr(3)))
	require.Equal(t, 5, Policy{MaxBookingsPerDay: ptr(5)}.MaxPerDay(nil))
	require.Zero(t, Policy{}.MaxPerDay(nil))
}

func TestGroupsShareOnlyTheSameSession(t *testing.T) {
	t.Parallel()
	m := setupMonday(t)
	m.cal.Offer.Capacity, m.cal.Offer.Step = 3, 30*time.Minute
	m.busy("S1", "10:00", "11:00")
	m.busy("S1", "10:00", "11:00")
	// 09:30 and 10:30 would overlap the session without being it.
	require.Equal(t, " 09:00x3 10:00 11:00x3 11:30x3 12:00x3", m.starts())
	m.busy("S1", "10:00", "11:00")
	m.busy("S1", "10:00", "11:00") // overbooked
	require.Equal(t, " 09:00x3 11:00x3 11:30x3 12:00x3", m.starts())
	require.Zero(t, SeatsAt(m.at("10:00"), m.cal.Offer, m.cal.Busy))
	require.Equal(t, 3, SeatsAt(m.at("07:13"), m.cal.Offer, m.cal.Busy), "hours are not its business")
	m.cal.Busy = nil
	m.busy("S1", "10:00", "11:15") // of another length: not joined
	require.Equal(t, " 09:00x3 11:30x3 12:00x3", m.starts())
}

func TestOffers(t *testing.T) {
	t.Parallel()
	service := Service{ID: named("S1"), DurationMinutes: 60, Price: 100_00, RequiresDeposit: true, DepositAmount: 50_00}
	policy := Policy{BufferBeforeMinutes: 5, BufferAfterMinutes: 10, SlotIntervalMinutes: ptr(20)}
	require.Equal(t, Offer{
		Service: named("S1"), Duration: time.Hour, Step: 20 * time.Minute, BufferBefore: 5 * time.Minute, BufferAfter: 10 * time.Minute,
		Capacity: 1, Price: 100_00, DepositAmount: 50_00,
	}, NewOffer(service, Override{}, policy))

	service.BufferBeforeMinutes, service.BufferAfterMinutes, service.SlotIntervalMinutes, service.Capacity = ptr(0), ptr(30), ptr(15), 4
	offer := NewOffer(service, Override{DurationMinutes: ptr(45), Price: ptr(Cents(40_00))}, policy)
	require.Equal(t, Offer{
		Service: named("S1"), Duration: 45 * time.Minute, Step: 15 * time.Minute, BufferAfter: 30 * time.Minute,
		Capacity: 4, Price: 40_00, DepositAmount: 40_00,
	}, offer, "the service wins over the organization, and a deposit is never more than the price")
	require.Equal(t, Cents(99_00), offer.WithDurationAndPrice(time.Hour, 99_00).Price)

	service.RequiresDeposit = false
	require.Zero(t, NewOffer(service, Override{}, policy).DepositAmount)
}

func TestRescheduleKeepsDurationAndPrice(t *testing.T) {
	t.Parallel()
	m := setupMonday(t)
	m.cal.Offer = m.cal.Offer.WithDurationAndPrice(2*time.Hour, 0)
	require.Equal(t, " 09:00 11:00", m.starts())
}

func TestPublicLimitsOfSlots(t *testing.T) {
	t.Parallel()
	m := setupMonday(t)
	policy := Policy{MinNoticeMinutes: 60, MaxAdvanceDays: ptr(1)}
	m.limits = policy.PublicLimits(m.at("10:00"), m.loc)
	require.Equal(t, " 11:00 12:00", m.starts(), "the notice itself is enough")
	m.limits = policy.PublicLimits(m.at("10:00").Add(time.Nanosecond), m.loc)
	require.Equal(t, " 12:00", m.starts())
	m.limits = policy.PublicLimits(m.at("00:00").Add(-time.Hour), m.loc)
	require.Equal(t, " 09:00 10:00 11:00 12:00", m.starts(), "the horizon's last day is in")
	m.limits = policy.PublicLimits(m.at("00:00").Add(-25*time.Hour), m.loc)
	require.Empty(t, m.starts())
	m.limits = StaffLimits(m.at("11:30"))
	require.Equal(t, " 12:00", m.starts())
}

func TestAlternatives(t *testing.T) {
	t.Parallel()
	m := setupMonday(t)
	m.cal.Rules = append(m.cal.Rules, Rule{Weekday: 2, Start: 9 * 60, End: 11 * 60, Active: true})
	calendars := []Calendar{m.cal}
	near := func(clock string, n int) string {
		out := ""
		for _, s := range Alternatives(m.loc, m.limits, m.at(clock), n, calendars) {
			out += s.Start.Format(" Mon15:04")
		}
		return out
	}
	require.Equal(t, " Mon10:00 Mon12:00", near("11:00", 2), "nearest, and not itself")
	require.Equal(t, " Mon09:00 Mon10:00 Mon12:00", near("11:00", 3))
	require.Equal(t, " Mon11:00 Mon12:00", near("19:00", 2))
	require.Equal(t, " Mon09:00 Mon10:00 Mon11:00 Mon12:00 Wed09:00 Wed10:00 Mon09:00", near("19:00", 7), "then the days that follow")
	require.Empty(t, near("11:00", 0))
	calendars[0].Rules = nil
	require.Empty(t, near("11:00", 3))
}

func TestLeastBookedProfessional(t *testing.T) {
	t.Parallel()
	m := setupMonday(t)
	busier, other := m.cal, m.cal
	busier.Professional, other.Professional = named("A"), named("B")
	busier.Busy = []Busy{{Start: m.at("17:00"), End: m.at("18:00")}}
	other.Rules = []Rule{{Weekday: 0, Start: 10 * 60, End: 12 * 60, Active: true}}
	got := ""
	for _, s := range FreeSlots(m.loc, m.limits, m.date, []Calendar{busier, other}) {
		who := map[bool]string{true: "A", false: "B"}[s.Professional == named("A")]
		got += s.Start.Format(" 15:04") + who
	}
	require.Equal(t, " 09:00A 10:00B 11:00B 12:00A", got)
}

func TestOrderOfBusyTimesDoesNotMatter(t *testing.T) {
	t.Parallel()
	m := setupMonday(t)
	m.busy("S2", "12:00", "13:00")
	m.busy("S2", "09:00", "09:05")
	m.busy("S2", "08:00", "18:00") // under all of it
	require.Empty(t, m.starts())
	m.cal.Busy = m.cal.Busy[:2]
	require.Equal(t, " 10:00 11:00", m.starts())
}

func TestEmptyRanges(t *testing.T) {
	t.Parallel()
	m := setupMonday(t)
	require.Nil(t, freeDays(t, m.loc, m.limits, m.date, m.date-1, []Calendar{m.cal}))
	require.Empty(t, FreeSlots(m.loc, m.limits, m.date, nil))
	m.cal.Offer.Duration = 0
	require.Empty(t, m.starts())
}
