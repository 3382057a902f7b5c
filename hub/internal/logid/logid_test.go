package logid_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/logid"
)

func TestSeq(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.UTC)
	seq := logid.NewSeq(now)
	require.Equal(t, uuid.Version(7), seq.Version())
	require.Equal(t, uuid.RFC4122, seq.Variant())
	require.Equal(t, []byte{0, 0}, seq[14:])
	require.Equal(t, now.Truncate(time.Millisecond), logid.Time(seq))
	require.Less(t, seq.String(), logid.NewSeq(now.Add(time.Microsecond)).String())

	first, last := logid.Delivery(seq, 1), logid.Delivery(seq, logid.MaxDeliveries)
	require.Less(t, seq.String(), first.String())
	require.Equal(t, logid.Last(seq), last)
	require.Equal(t, []byte{0xff, 0xff}, last[14:])
	require.Equal(t, seq, logid.Seq(first))
	require.Equal(t, seq, logid.Seq(last))
	require.NotEqual(t, logid.NewSeq(now), logid.NewSeq(now))
	// 901,234 of the millisecond's 1,000,000 ns are 3,691 (0xe6b) of 4,096.
	require.Equal(t, []byte{0x7e, 0x6b}, seq[6:8])
}

func TestFloor(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	require.Equal(t, "01a1f640-bc00-0000-0000-000000000000", logid.Floor(day).String())
	require.Less(t, logid.NewSeq(day.Add(-time.Millisecond)).String(), logid.Floor(day).String())
	require.LessOrEqual(t, logid.Floor(day).String(), logid.New(day).String())
}

func TestPartition(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	before, after := logid.NewSeq(midnight.Add(-time.Millisecond)), logid.NewSeq(midnight)
	require.Equal(t, "p20261119", logid.Partition(before))
	require.Equal(t, "p20261120", logid.Partition(after))
	require.False(t, logid.SameDay(before, after))
	require.True(t, logid.SameDay(after, logid.NewSeq(midnight.Add(24*time.Hour-time.Millisecond))))
}

func TestCountSameDay(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	before, after := logid.NewSeq(midnight.Add(-time.Millisecond)), logid.NewSeq(midnight)
	require.Equal(t, 1, logid.CountSameDay([]uuid.UUID{before}))
	require.Equal(t, 1, logid.CountSameDay([]uuid.UUID{before, after, before}))
	require.Equal(t, 2, logid.CountSameDay([]uuid.UUID{after, after, before, after}))
	require.Equal(t, 3, logid.CountSameDay([]uuid.UUID{after, after, after}))
}
