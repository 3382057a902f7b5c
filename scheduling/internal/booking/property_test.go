package booking

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSlotFinderAgreesWithNaiveImplementation(t *testing.T) {
	t.Parallel()
	offered := 0
	eachScene(t, 1, func(s scene, _ *draws) {
		slots := FreeSlots(s.loc, s.limits, s.date, s.calendars)
		require.Equal(t, naiveDay(s.loc, s.limits, s.date, &s.calendars[0]), slots, "%v %v %+v", s.loc, s.date, s.calendars[0])
		offered += len(slots)
	})
	require.Greater(t, offered, 1500, "the generator offers too little to prove anything")
}

func TestSlotInvariants(t *testing.T) {
	t.Parallel()
	eachScene(t, 1, func(s scene, _ *draws) { requireSound(t, s) })
}

// requireSound holds what is true of the slots of every question.
func requireSound(t *testing.T, s scene) {
	t.Helper()
	calendar := &s.calendars[0]
	slots := FreeSlots(s.loc, s.limits, s.date, s.calendars[:1])
	for i, slot := range slots {
		require.True(t, i == 0 || slots[i-1].Start.Before(slot.Start), "not in order, or twice")
		require.Equal(t, s.date, DateOf(slot.Start, s.loc))
		require.False(t, slot.Start.Before(s.limits.Earliest))
		require.Equal(t, calendar.Offer.Duration, slot.End.Sub(slot.Start), "real elapsed time")
		require.True(t, WithinHours(s.loc, slot.Start, slot.End, calendar.Rules, calendar.Exceptions), "outside the windows: %v of %+v %v", slot, *calendar, s.loc)
		require.Equal(t, slot.Remaining, SeatsAt(slot.Start, calendar.Offer, calendar.Busy), "a write would decide differently")
		for _, busy := range calendar.Busy {
			session := calendar.Offer.Capacity > 1 && busy.Service == calendar.Offer.Service && busy.Start.Equal(slot.Start) && busy.End.Equal(slot.End)
			require.True(t, session || !busy.Start.Before(slot.End) || !slot.Start.Before(busy.End), "overlaps a busy time")
		}
		found, ok := FindSlot(s.loc, s.limits, slot.Start, s.calendars[:1])
		require.True(t, ok)
		require.Equal(t, slot, found)
	}
}

func TestAddingAnAppointmentNeverAddsASlot(t *testing.T) {
	t.Parallel()
	eachScene(t, 1, func(s scene, drawn *draws) {
		before := map[int64]int{}
		for _, slot := range FreeSlots(s.loc, s.limits, s.date, s.calendars) {
			before[slot.Start.Unix()] = slot.Remaining
		}
		calendar := &s.calendars[0]
		calendar.Busy = append(calendar.Busy, drawn.busy(&s, calendar.Offer))
		for _, slot := range FreeSlots(s.loc, s.limits, s.date, s.calendars) {
			require.LessOrEqual(t, slot.Remaining, before[slot.Start.Unix()])
		}
	})
}

func TestBookingASlotTakesASeat(t *testing.T) {
	t.Parallel()
	eachScene(t, 1, func(s scene, drawn *draws) {
		calendar := &s.calendars[0]
		calendar.MaxPerDay = 0
		slots := FreeSlots(s.loc, s.limits, s.date, s.calendars)
		if len(slots) == 0 {
			return
		}
		slot := slots[drawn.below(len(slots))]
		calendar.Busy = append(calendar.Busy, Busy{Start: slot.Start, End: slot.End, Service: calendar.Offer.Service, BufferBefore: calendar.Offer.BufferBefore, BufferAfter: calendar.Offer.BufferAfter})
		after, ok := FindSlot(s.loc, s.limits, slot.Start, s.calendars)
		require.Equal(t, slot.Remaining > 1, ok)
		require.Equal(t, slot.Remaining-1, after.Remaining)
		require.Equal(t, slot.Remaining-1, SeatsAt(slot.Start, calendar.Offer, calendar.Busy))
	})
}

func TestMonthAgreesWithItsDays(t *testing.T) {
	t.Parallel()
	eachScene(t, 3, func(s scene, _ *draws) {
		for _, calendars := range [][]Calendar{s.calendars[:1], s.calendars} {
			first := s.date - 1
			month := freeDays(t, s.loc, s.limits, first, s.date+1, calendars)
			require.Len(t, month, 3)
			for i, free := range month {
				slots := FreeSlots(s.loc, s.limits, first+Date(i), calendars)
				require.Equal(t, first+Date(i), free.Date)
				require.Len(t, slots, free.Free)
				if len(slots) > 0 {
					require.Equal(t, slots[0].Start, free.First)
				} else {
					require.True(t, free.First.IsZero())
				}
			}
		}
	})
}

func TestAnyProfessionalIsTheUnion(t *testing.T) {
	t.Parallel()
	eachScene(t, 3, func(s scene, _ *draws) {
		type choice struct{ bookings, calendar int }
		best := map[int64]choice{}
		for i := range s.calendars {
			bookings := 0
			for _, busy := range s.calendars[i].Busy {
				if DateOf(busy.Start, s.loc) == s.date {
					bookings++
				}
			}
			for _, slot := range FreeSlots(s.loc, s.limits, s.date, s.calendars[i:i+1]) {
				if had, ok := best[slot.Start.Unix()]; !ok || bookings < had.bookings {
					best[slot.Start.Unix()] = choice{bookings, i}
				}
			}
		}
		slots := FreeSlots(s.loc, s.limits, s.date, s.calendars)
		require.Len(t, slots, len(best))
		for i, slot := range slots {
			require.True(t, i == 0 || slots[i-1].Start.Before(slot.Start))
			require.Equal(t, s.calendars[best[slot.Start.Unix()].calendar].Professional, slot.Professional)
		}
	})
}

func TestOccupancyCountsWorkingMinutes(t *testing.T) {
	t.Parallel()
	eachScene(t, 1, func(s scene, _ *draws) {
		calendar := &s.calendars[0]
		n := &naiveClock{s.loc, map[time.Time]time.Time{}}
		open, blocked := naiveOpen(n, s.date, calendar)
		var available, booked int64
		for m := range open {
			if blocked[m] {
				continue
			}
			available++
			for _, busy := range calendar.Busy {
				if busy.Start.Unix() <= m && m < busy.End.Unix() {
					booked++
					break
				}
			}
		}
		gotAvailable, gotBooked := Occupancy(s.loc, s.date, s.date, calendar.Rules, calendar.Exceptions, calendar.Busy)
		require.Equal(t, available, gotAvailable)
		require.Equal(t, booked, gotBooked)
	})
}

func FuzzDay(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("any bytes are choices of zones, days, rules, exceptions and appointments"))
	f.Fuzz(func(t *testing.T, data []byte) {
		drawn := &draws{data}
		s := drawn.scene(t, 1)
		requireSound(t, s)
		require.Equal(t, naiveDay(s.loc, s.limits, s.date, &s.calendars[0]), FreeSlots(s.loc, s.limits, s.date, s.calendars))
	})
}
