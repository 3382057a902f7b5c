package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// accepted makes the record of an event answered 202 for two endpoints.
func accepted(n uint64) Sent {
	return Sent{ID: 1000 + n, N: n, At: 1, Acked: 2, Status: 202, Deliveries: 2, Data: uint32(n)}
}

// arrived makes the record of its delivery at one endpoint, answered 200.
func arrived(s Sent, endpoint uint32) Arrival {
	return Arrival{ID: s.ID, N: s.N, Sent: s.At, At: 3, Endpoint: endpoint, Status: 200, Body: uint32(s.N) + 1, Data: s.Data}
}

func TestReckon(t *testing.T) {
	t.Parallel()
	first, second := accepted(1), accepted(2)
	whole := []Arrival{arrived(first, 0), arrived(first, 1), arrived(second, 0), arrived(second, 1)}
	refused := arrived(first, 0)
	refused.Status = 500
	unanswered := Sent{N: 9, Data: 9}
	change := func(a Arrival, how func(*Arrival)) Arrival {
		how(&a)
		return a
	}
	cases := map[string]struct {
		sent     []Sent
		arrivals []Arrival
		want     Balance
		sound    bool
	}{
		"everything once":           {[]Sent{first, second}, whole, Balance{Delivered: 4}, true},
		"one endpoint missing":      {[]Sent{first, second}, whole[:3], Balance{Delivered: 3, Lost: 1}, false},
		"a duplicate":               {[]Sent{first, second}, append(whole[:4:4], whole[0]), Balance{Delivered: 4, Duplicated: 1}, true},
		"a duplicate hides no loss": {[]Sent{first, second}, append(whole[:3:3], whole[0]), Balance{Delivered: 3, Duplicated: 1, Lost: 1}, false},
		"refused, then taken":       {[]Sent{first, second}, append([]Arrival{refused}, whole...), Balance{Delivered: 4}, true},
		"only refused":              {[]Sent{first, second}, append([]Arrival{refused}, whole[1:]...), Balance{Delivered: 3, Lost: 1}, false},
		"never sent":                {[]Sent{first, second}, append(whole[:4:4], arrived(accepted(3), 0)), Balance{Delivered: 4, Unknown: 1}, false},
		"sent without an answer": {[]Sent{first, second, unanswered}, append(whole[:4:4], arrived(Sent{ID: 77, N: 9, Data: 9}, 0)),
			Balance{Delivered: 4, Unanswered: 1}, true},
		"other data": {[]Sent{first, second}, append(whole[:3:3], change(whole[3], func(a *Arrival) { a.Data++ })),
			Balance{Delivered: 4, Altered: 1}, false},
		"another event's number": {[]Sent{first, second}, append(whole[:3:3], change(whole[3], func(a *Arrival) { a.N = 1 })),
			Balance{Delivered: 4, Altered: 1}, false},
		"other bytes on the second attempt": {[]Sent{first, second}, append([]Arrival{change(refused, func(a *Arrival) { a.Body++ })}, whole...),
			Balance{Delivered: 4, Altered: 1}, false},
		"a false signature": {[]Sent{first, second}, append(whole[:3:3], change(whole[3], func(a *Arrival) { a.Signature = signatureFalse })),
			Balance{Delivered: 4, Forged: 1}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Reckon(c.sent, c.arrivals)
			require.Equal(t, c.sound, got.Sound())
			got.missing = nil
			c.want.Accepted, c.want.Expected = 2, 4
			require.Equal(t, c.want, *got)
		})
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	first, second := accepted(1), accepted(2)
	b := Reckon([]Sent{first, second}, []Arrival{arrived(first, 0)})
	require.Equal(t, 3, b.Lost)
	require.Equal(t, map[uint64]int{first.ID: 1, second.ID: 2}, b.Missing())
	standing := map[string]int{hub.FormatEventID(first.ID): 2, hub.FormatEventID(second.ID): 1} // one of them more than is missing
	require.NoError(t, b.Explain(func(id string) (int, error) { return standing[id], nil }))
	require.Equal(t, 2, b.Waiting)
	require.Equal(t, 1, b.Lost)
}

func TestRecordsRoundTrip(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sent.bin")
	sent := []Sent{accepted(1), {N: 2, At: 5, Acked: 6}}
	require.NoError(t, saveRecords(file, sent))
	got, err := loadRecords[Sent](file)
	require.NoError(t, err)
	require.Equal(t, sent, got)

	var raw bytes.Buffer
	arrivals := []Arrival{arrived(accepted(1), 3)}
	require.NoError(t, writeRecords(&raw, arrivals))
	require.Equal(t, 48, raw.Len())
	back, err := readRecords[Arrival](raw.Bytes())
	require.NoError(t, err)
	require.Equal(t, arrivals, back)
	_, err = readRecords[Arrival](raw.Bytes()[:47])
	require.Error(t, err)
}
