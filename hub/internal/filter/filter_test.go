package filter

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

func newEvent(data string) *Event {
	return NewEvent(hub.Event{
		ID: "evt_0123456789abcdef", Product: "shop", Type: "order.paid", CorrelationID: "cart 7",
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Data: []byte(data),
	})
}

func evaluate(t testing.TB, text string, event *Event) Result {
	t.Helper()
	result, err := New(text).Evaluate(context.Background(), event)
	require.NoError(t, err)
	return result
}

// A filter sees all of the envelope; numbers compare whether they are written as integers or
// not.
func TestExpressions(t *testing.T) {
	t.Parallel()
	event := newEvent(`{"total":100,"price":100.5,"huge":9007199254740993,"unsigned":18446744073709551615,"giant":1e400,"minus":-0,
		"customer":{"name":"José da Silva 👩🏽‍⚕️","tags":["vip","são paulo"],"age":null},"lines":[{"sku":"a","n":2},{"sku":"ß","n":0.5}],"ação":"sim","in":1,"ok":true}`)
	for text, want := range map[string]bool{
		`true`:                        true,
		`event.type == "order.paid"`:  true,
		`event.type.startsWith("or")`: true,
		`event.product == "shop" && event.id == "evt_0123456789abcdef"`: true,
		`event.correlation_id == "cart 7"`:                              true,
		`event.timestamp > timestamp("2026-01-02T03:04:04Z")`:           true,
		`event.timestamp.getHours("America/Sao_Paulo") == 0`:            true,
		`event.data.total > 99.5`:                                       true,
		`event.data.total == 100.0`:                                     true,
		`event.data.price > 100`:                                        true,
		`event.data.price < event.data.total`:                           false,
		`event.data.huge == 9007199254740993`:                           true,
		`event.data.huge == 9007199254740992`:                           false,
		`event.data.unsigned > 1`:                                       true,
		`event.data.unsigned - 1u == 18446744073709551614u`:             true,
		`event.data.giant > 1e308`:                                      true,
		`event.data.minus == 0`:                                         true,
		`double(event.data.total) * 1.5 == 150.0`:                       true,
		`event.data.lines.exists(l, l.n < 1)`:                           true,
		`event.data.lines.map(l, l.sku) == ["a", "ß"]`:                  true,
		`"vip" in event.data.customer.tags`:                             true,
		`event.data.customer.age == null`:                               true,
		`has(event.data.customer.age) && !has(event.data.customer.zip)`: true,
		`has(event.data.missing) && event.data.missing > 1`:             false,
		`event.data.customer.name.contains("José")`:                     true,
		`event.data.customer.name.endsWith("👩🏽‍⚕️")`:                    true,
		`event.data["ação"] == "sim"`:                                   true,
		`event.data["in"] == 1`:                                         true,
		`event.data.customer.name.matches("^Jos[ée] da")`:               true,
		`event.data.ok`:             true,
		`event.data.total == "100"`: false, // never an error: unlike types are unequal
		`event.data == event.data`:  true,
	} {
		require.NoError(t, Check(text), text)
		result := evaluate(t, text, event)
		require.NoError(t, result.Err, text)
		require.Equal(t, want, result.Matches, text)
		require.GreaterOrEqual(t, result.Cost, uint64(1), text)
		require.Less(t, result.Cost, uint64(1000), text)
	}
	// A comparison costs what is compared, on both sides.
	small, large := evaluate(t, `event.data.ok == true`, event).Cost, evaluate(t, `event.data.customer.tags == event.data.customer.tags`, event).Cost
	require.GreaterOrEqual(t, large, small+4)
}

// What is no boolean expression over event is refused, with the column, which counts
// characters from 1.
func TestCheck(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                         `column 1: Syntax error`,
		` `:                        `column 2: `,
		`event.data.total >`:       `column 19: `,
		`two || one`:               `column 1: undeclared reference to 'two'`,
		`event.typ == "a"`:         `column 6: `,
		`"ação👩🏽‍⚕️" == even.type`: `column 16: undeclared reference to 'even'`,
		`event.data.a == 1 &&` + "\n" + `  nothing`: `line 2, column 3: undeclared reference to 'nothing'`,
		`event.type`:              `must be true or false, such as event.data.total > 100; this is string`,
		`1 + 1`:                   `must be true or false`,
		`event.type > 5`:          `column 12: found no matching overload`,
		`event.type.matches("(")`: `error parsing regexp`,
		`"` + strings.Repeat("x", MaxSize) + `" == ""`:               `must have at most 2048 bytes`,
		strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200): ``,
	} {
		err := Check(text)
		require.Error(t, err, text)
		require.Contains(t, err.Error(), want, text)
		require.NotContains(t, err.Error(), "\n")
	}
	require.EqualError(t, Check(strings.Repeat("(", 200)+"true"+strings.Repeat(")", 200)), "expression recursion limit exceeded: 50", "the whole text, no place in it")
	require.NoError(t, Check(`event.data.a == "`+strings.Repeat("x", MaxSize-18)+`"`))
}

// An event that an expression cannot be evaluated for does not match. The error says where and
// why, and nothing of the data.
func TestEvaluationErrors(t *testing.T) {
	t.Parallel()
	event := newEvent(`{"total":"secret words","list":[1],"n":5,"zero":0,"max":9223372036854775807,"key":"secret words","o":{}}`)
	for text, want := range map[string]string{
		`event.data.amount > 1`:                          `column 11: the event has no such member: amount`,
		`event.data.total > 1`:                           `column 18: a value has the wrong type for this`,
		`event.data.total.amount == 1`:                   `the event has no such member`,
		`event.data.list[3] == 1`:                        `the list has no such element`,
		`event.data.o[event.data.key] == 1`:              `the event has no such member`,
		`int(event.data.total) == 1`:                     `a function could not take its value`,
		`event.data.n / event.data.zero == 1`:            `division by zero`,
		`event.data.max + 1 > 1`:                         `a number is too large`,
		`event.data.n`:                                   `the filter is int for this event, neither true nor false`,
		`timestamp(event.data.total) == event.timestamp`: `a function could not take its value`,
		`event.data.n * 1.5 > 1.0`:                       `a value has the wrong type for this`,
		`event.type.matches(event.data.key + "(")`:       ``,
		`]`: `does not compile`,
	} {
		result := evaluate(t, text, event)
		require.False(t, result.Matches, text)
		require.Error(t, result.Err, text)
		require.Contains(t, result.Err.Error(), want, text)
		require.NotContains(t, result.Err.Error(), "secret", text)
	}
	require.ErrorContains(t, evaluate(t, `true`, newEvent(`[]`)).Err, "no JSON object")
	require.EqualError(t, evaluate(t, `event.data[""] == 1`, event).Err, "column 11: the event has no such member")
}

// Whatever an expression does with 256 KiB of data, it ends at the limit of cost, and so far
// soon.
func TestCostIsBounded(t *testing.T) {
	t.Parallel()
	event := newEvent(`{"list":[` + strings.Repeat("1,", 128<<10) + `1],"text":"` + strings.Repeat("a", 100<<10) + `"}`)
	for _, text := range []string{
		`event.data.list.all(x, event.data.list.all(y, event.data.list.all(z, x == y)))`,
		`event.data.list.map(x, x * 2).size() > 1`,
		`event.data.list.exists(x, x == 2)`,
		`event.data == event.data` + strings.Repeat(` && event.data == event.data`, 70),
		`event.data.list == event.data.list && event.data.list in [event.data.list]`,
		strings.Repeat(`event.data.text.matches("^(a|b|c)*d") || `, 40) + `false`,
		`[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, a + b + c + d + e > 0)))))`,
		strings.Repeat(`[`, 20) + `event.data` + strings.Repeat(`]`, 20) + ` != ` + strings.Repeat(`[`, 20) + `event.data` + strings.Repeat(`]`, 20),
	} {
		require.NoError(t, Check(text), text)
		result := evaluate(t, text, event)
		require.ErrorContains(t, result.Err, fmt.Sprintf("costs too much for this event: more than %d steps", MaxCost), text)
		require.False(t, result.Matches)
		require.GreaterOrEqual(t, result.Cost, uint64(MaxCost))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := New(`event.data.list.exists(x, x == 2)`).Evaluate(ctx, event)
	require.ErrorIs(t, err, ErrInterrupted)
}

func TestLastCost(t *testing.T) {
	t.Parallel()
	f, event := New(`event.data.list.exists(x, x == 2)`), newEvent(`{"list":[1,1,1]}`)
	require.Zero(t, f.LastCost())
	for _, data := range []*Event{event, newEvent(`{"list":[2]}`), event} {
		result, err := f.Evaluate(t.Context(), data)
		require.NoError(t, err)
		require.Equal(t, result.Cost, f.LastCost())
	}
}

// The data is decoded once for all filters, and not at all without one.
func TestDataIsDecodedOnce(t *testing.T) {
	t.Parallel()
	event := newEvent(`{"a":1}`)
	first, err := event.envelope()
	require.NoError(t, err)
	evaluate(t, `event.data.a == 1`, event)
	again, err := event.envelope()
	require.NoError(t, err)
	require.Same(t, first, again)
}

func BenchmarkEvaluate(b *testing.B) {
	event := newEvent(`{"total":100,"customer":{"name":"a","vip":true},"list":[` + strings.Repeat("1,", 128<<10) + `1]}`)
	for name, text := range map[string]string{
		"simple": `event.data.total > 50 && event.type == "order.paid"`,
		"nested": `event.type.startsWith("order.") && event.data.customer.vip && event.data.total >= 99.5`,
		"limit":  `event.data.list.exists(x, x == 2)`,
		"equal":  `event.data == event.data`,
	} {
		f := New(text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var cost uint64
			for b.Loop() {
				result, _ := f.Evaluate(b.Context(), event)
				cost = result.Cost
			}
			b.ReportMetric(float64(cost), "cost")
		})
	}
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			_, _ = compile(`event.type.startsWith("order.") && event.data.customer.vip && event.data.total >= 99.5`)
		}
	})
}

// Filters are compiled side by side, with and without errors: the library's environment is
// shared by all of them. The race detector notices.
func TestConcurrentChecks(t *testing.T) {
	t.Parallel()
	var checks sync.WaitGroup
	for range 8 {
		checks.Go(func() { assert.Error(t, Check(`even.type == "a"`)) })
		checks.Go(func() { assert.NoError(t, Check(`event.data.lines.exists(l, l.n < 1)`)) })
	}
	checks.Wait()
}
