package reconcile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/records"
)

func TestCountOutOfOrder(t *testing.T) {
	t.Parallel()
	// Numbers 1, 3 and 5 have one of two keys, 2 has the other.
	event := func(n uint64) records.Sent {
		return records.Sent{ID: 1000 + n, Number: n, SentAt: int64(10 * n), AnsweredAt: int64(10*n + 5), Status: 202}
	}
	first, other, second, third := event(1), event(2), event(3), event(5)
	arrive := func(s records.Sent) records.Arrival { return arrived(s, 0) }
	refused := arrive(first)
	refused.Status = 500
	slow := first
	slow.AnsweredAt = second.SentAt + 1 // which of the two was accepted first is unknown
	notAccepted := first
	notAccepted.Status = 503
	cases := map[string]struct {
		sent     []records.Sent
		arrivals []records.Arrival
		want     int
	}{
		"in order":                    {[]records.Sent{first, other, second, third}, []records.Arrival{arrive(first), arrive(second), arrive(other), arrive(third)}, 0},
		"the second first":            {[]records.Sent{first, second}, []records.Arrival{arrive(second), arrive(first)}, 1},
		"the third first":             {[]records.Sent{first, second, third}, []records.Arrival{arrive(third), arrive(first), arrive(second)}, 1},
		"the first was refused":       {[]records.Sent{first, second}, []records.Arrival{refused, arrive(second), arrive(first)}, 1},
		"refused, and sent again":     {[]records.Sent{first, second}, []records.Arrival{refused, arrive(first), arrive(second)}, 0},
		"a repetition":                {[]records.Sent{first, second}, []records.Arrival{arrive(first), arrive(second), arrive(first)}, 0},
		"accepted at the same time":   {[]records.Sent{slow, second}, []records.Arrival{arrive(second), arrive(slow)}, 0},
		"the first was not accepted":  {[]records.Sent{notAccepted, second}, []records.Arrival{arrive(second)}, 0},
		"another key does not matter": {[]records.Sent{first, other}, []records.Arrival{arrive(other), arrive(first)}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, CountOutOfOrder(c.sent, c.arrivals, 2))
		})
	}
}
