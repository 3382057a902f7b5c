package reconcile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/records"
	"integrationhub/hub"
)

// accepted makes the record of an event answered 202 for two endpoints.
func accepted(n uint64) records.Sent {
	return records.Sent{ID: 1000 + n, Number: n, SentAt: 1, AnsweredAt: 2, Status: 202, Deliveries: 2, DataCRC: uint32(n)}
}

// arrived makes the record of its delivery at one endpoint, answered 200.
func arrived(s records.Sent, endpoint uint32) records.Arrival {
	return records.Arrival{ID: s.ID, Number: s.Number, SentAt: s.SentAt, ArrivedAt: 3, Endpoint: endpoint, Status: 200, BodyCRC: uint32(s.Number) + 1, DataCRC: s.DataCRC}
}

func TestReckon(t *testing.T) {
	t.Parallel()
	first, second := accepted(1), accepted(2)
	whole := []records.Arrival{arrived(first, 0), arrived(first, 1), arrived(second, 0), arrived(second, 1)}
	refused := arrived(first, 0)
	refused.Status = 500
	unanswered := records.Sent{Number: 9, DataCRC: 9}
	change := func(a records.Arrival, how func(*records.Arrival)) records.Arrival {
		how(&a)
		return a
	}
	cases := map[string]struct {
		sent     []records.Sent
		arrivals []records.Arrival
		want     Balance
		sound    bool
	}{
		"everything once":           {[]records.Sent{first, second}, whole, Balance{Delivered: 4}, true},
		"one endpoint missing":      {[]records.Sent{first, second}, whole[:3], Balance{Delivered: 3, Lost: 1}, false},
		"a duplicate":               {[]records.Sent{first, second}, append(whole[:4:4], whole[0]), Balance{Delivered: 4, Duplicated: 1}, true},
		"a duplicate hides no loss": {[]records.Sent{first, second}, append(whole[:3:3], whole[0]), Balance{Delivered: 3, Duplicated: 1, Lost: 1}, false},
		"refused, then taken":       {[]records.Sent{first, second}, append([]records.Arrival{refused}, whole...), Balance{Delivered: 4}, true},
		"only refused":              {[]records.Sent{first, second}, append([]records.Arrival{refused}, whole[1:]...), Balance{Delivered: 3, Lost: 1}, false},
		"never sent":                {[]records.Sent{first, second}, append(whole[:4:4], arrived(accepted(3), 0)), Balance{Delivered: 4, Unknown: 1}, false},
		"sent without an answer": {[]records.Sent{first, second, unanswered}, append(whole[:4:4], arrived(records.Sent{ID: 77, Number: 9, DataCRC: 9}, 0)),
			Balance{Delivered: 4, Unanswered: 1}, true},
		"other data": {[]records.Sent{first, second}, append(whole[:3:3], change(whole[3], func(a *records.Arrival) { a.DataCRC++ })),
			Balance{Delivered: 4, Altered: 1}, false},
		"another event's number": {[]records.Sent{first, second}, append(whole[:3:3], change(whole[3], func(a *records.Arrival) { a.Number = 1 })),
			Balance{Delivered: 4, Altered: 1}, false},
		"other bytes on the second attempt": {[]records.Sent{first, second}, append([]records.Arrival{change(refused, func(a *records.Arrival) { a.BodyCRC++ })}, whole...),
			Balance{Delivered: 4, Altered: 1}, false},
		"a false signature": {[]records.Sent{first, second}, append(whole[:3:3], change(whole[3], func(a *records.Arrival) { a.Signature = records.SignatureInvalid })),
			Balance{Delivered: 4, Forged: 1}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Compare(c.sent, c.arrivals)
			require.Equal(t, c.sound, got.Sound())
			got.Missing = nil
			c.want.Accepted, c.want.Expected = 2, 4
			require.Equal(t, c.want, *got)
		})
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	first, second := accepted(1), accepted(2)
	b := Compare([]records.Sent{first, second}, []records.Arrival{arrived(first, 0)})
	require.Equal(t, 3, b.Lost)
	require.Equal(t, map[uint64]int{first.ID: 1, second.ID: 2}, b.Missing)
	explained := map[string]int{hub.FormatEventID(first.ID): 2, hub.FormatEventID(second.ID): 1} // one of them more than is missing
	require.NoError(t, b.Explain(func(id string) (int, error) { return explained[id], nil }))
	require.Equal(t, 2, b.Waiting)
	require.Equal(t, 1, b.Lost)
}
