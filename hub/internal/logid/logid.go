// Package logid makes and reads the ids of the log. They are UUIDv7s, so their
// order is the order of time and a day is a range of them: the partition key of
// events, deliveries and attempts.
//
// An event's seq ends in two zero bytes; each of its deliveries has the same id
// with its ordinal (1…65535) there. So an event's deliveries are one range of
// the primary key, and a delivery names its event, without an index for either.
package logid

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
)

// MaxDeliveries is how many deliveries one event can have.
const MaxDeliveries = 1<<16 - 1

// NewSeq returns an event's seq for a moment. Below the millisecond 12 more bits of
// the clock keep the ids of one process nearly in order.
func NewSeq(now time.Time) uuid.UUID {
	var id uuid.UUID
	putTime(&id, now)
	fraction := uint64(now.Nanosecond()%int(time.Millisecond)) << 12 / uint64(time.Millisecond)
	binary.BigEndian.PutUint16(id[6:], 0x7000|uint16(fraction))
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()&0x3fff_ffff_ffff_0000|0x8000_0000_0000_0000) //nolint:gosec // ids have to differ, not to be secret
	return id
}

// New returns an id for a row that has no deliveries, such as an audit entry.
func New(now time.Time) uuid.UUID {
	id := NewSeq(now)
	binary.BigEndian.PutUint16(id[14:], uint16(rand.Uint32())) //nolint:gosec // as in NewSeq
	return id
}

// Delivery is the id of an event's n-th delivery, n from 1 to [MaxDeliveries].
func Delivery(seq uuid.UUID, n int) uuid.UUID {
	binary.BigEndian.PutUint16(seq[14:], uint16(n))
	return seq
}

// Seq is the seq of a delivery's event.
func Seq(delivery uuid.UUID) uuid.UUID { return Delivery(delivery, 0) }

// Last is the highest id a delivery of an event can have.
func Last(seq uuid.UUID) uuid.UUID { return Delivery(seq, MaxDeliveries) }

// Floor is the smallest id of a moment (to the millisecond).
func Floor(at time.Time) uuid.UUID {
	var id uuid.UUID
	putTime(&id, at)
	return id
}

// Time is the moment of an id, to the millisecond, in UTC.
func Time(id uuid.UUID) time.Time {
	ms := int64(binary.BigEndian.Uint64(id[:8]) >> 16)
	return time.UnixMilli(ms).UTC()
}

func putTime(id *uuid.UUID, at time.Time) {
	ms := uint64(at.UnixMilli())
	binary.BigEndian.PutUint64(id[:8], ms<<16)
}

// Partition is the suffix of the day's tables an id belongs to: "p20261120".
func Partition(id uuid.UUID) string { return Time(id).Format("p20060102") }

// SameDay reports whether two ids belong to the same day's tables.
func SameDay(a, b uuid.UUID) bool { return day(a) == day(b) }

// CountSameDay returns how many of the first ids belong to the same day's tables. There is at
// least one id.
func CountSameDay(ids []uuid.UUID) int {
	n := 1
	for n < len(ids) && SameDay(ids[0], ids[n]) {
		n++
	}
	return n
}

func day(id uuid.UUID) uint64 {
	return binary.BigEndian.Uint64(id[:8]) >> 16 / uint64(24*time.Hour/time.Millisecond)
}
