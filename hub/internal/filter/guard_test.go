package filter

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A small filter and a small event cannot make one call that takes all memory, or that never
// ends: it is refused before it is carried out.
func TestCallsThatGrowAreRefused(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 1000)
	long := strings.Repeat("a", 1_000_000)
	data, err := json.Marshal(map[string]any{"s": text, "long": long, "l": make([]int, 100), "re": strings.Repeat("(a?){1000}", 100), "longre": strings.Repeat("a?", 300_000)})
	require.NoError(t, err)
	event := newEvent(string(data))
	const tooMuch = "the filter costs too much for this event: more than 10000 steps"
	for expression, want := range map[string]string{
		`[event.data.s]` + strings.Repeat(".map(x,x+x)", 19) + `[0].size()==3`:                                         tooMuch,
		`[b"aaaaaaaaaaaaaaaa"]` + strings.Repeat(".map(x,x+x)", 19) + `[0].size()==3`:                                  tooMuch,
		`[[1]]` + strings.Repeat(".map(x,[x,x])", 19) + `.all(x, x == x)`:                                              tooMuch,
		`[[1]]` + strings.Repeat(".map(x,[x,x])", 19) + `.all(x, x != x)`:                                              tooMuch,
		`[[1]]` + strings.Repeat(".map(x,[x,x])", 19) + `.all(x, dyn(2) in x)`:                                         tooMuch,
		`[[1]]` + strings.Repeat(".map(x,x+x)", 19) + `.all(x, dyn(2) in x)`:                                           tooMuch,
		`[{"a":1}]` + strings.Repeat(`.map(x,{"a":x,"b":x})`, 19) + `.all(x, x == x)`:                                  tooMuch,
		`event.data.l.all(x, event.data.long < event.data.long + "b" || x == 1)`:                                       tooMuch,
		`event.data.l.all(x, event.data.long <= event.data.long)`:                                                      tooMuch,
		`event.data.l.all(x, size(event.data.long) > 0)`:                                                               tooMuch,
		`event.data.l.all(x, [event.data.long] == [event.data.long])`:                                                  tooMuch,
		`event.data.long.matches("^(a{0,150}){2}b$")`:                                                                  tooMuch,
		`event.data.s.matches(event.data.longre)`:                                                                      tooMuch,
		`event.data.long.matches(event.data.s)`:                                                                        tooMuch,
		`event.data.s.matches(event.data.re)`:                                                                          tooMuch,
		`event.data.l.all(x, event.data.s.matches(event.data.re))`:                                                     tooMuch,
		`size(event.data.long) > 5 && event.data.long.startsWith("aa") && event.data.long != "b" && event.data.l == 1`: "",
		`event.data.s + "b" > event.data.s && event.data.s.matches("^a+$") && !event.data.s.matches("b" + "c")`:        "",
	} {
		require.NoError(t, Check(expression), expression)
		before, start := allocated(), time.Now()
		result := evaluate(t, expression, event)
		require.Less(t, time.Since(start), 20*time.Second, expression) // far more than it takes, far less than it took
		require.Less(t, allocated()-before, uint64(300<<20), expression)
		if want == "" {
			require.NoError(t, result.Err, expression)
			continue
		}
		require.Error(t, result.Err, expression)
		require.Equal(t, want, result.Err.Error(), expression)
	}
	for _, expression := range []string{`event.type.matches("(a?){1000}b")`, `"x".matches("` + strings.Repeat("a{0,1000}", 50) + `")`} {
		require.EqualError(t, Check(expression), "the regular expression is too large: it compiles to more than 1000 instructions, as long repetitions do")
	}
}

// An expression whose types would grow without bound is refused before it is compiled.
func TestExpressionsThatCannotBeCompiled(t *testing.T) {
	t.Parallel()
	const keys, object = `the keys of an object must be texts or numbers as they stand, such as {"a": 1}`, "a filter cannot make an object of a type"
	for expression, want := range map[string]string{
		`[1]` + strings.Repeat(".map(x,{x:x})", 5) + `.size()==1`:         "column 11: " + keys,
		`[[1]]` + strings.Repeat(".map(x,[x,x])", 30) + `.all(x, x == x)`: "column 140: must have at most 20 of all, exists, filter, map and the like",
		`[[1]].map(x,x+x).all(x, filter.Envelope{data:{"a":x}}.id == "")`: "column 40: " + object,
		`google.protobuf.ListValue{values: []} == []`:                     "column 26: " + object,
		`{b"a": 1} == {b"a": 1}`:                                          "column 1: " + keys,
		`{1.5: 1} == {}`:                                                  "column 1: " + keys,
		`{event.type: 1} == {}`:                                           "column 1: " + keys,
		`{"a": 1, 2: true, 3u: "x", true: [1]} != {} && ` + strings.Repeat("event.data.all(x, true) && ", 20) + `true`: "",
	} {
		err := Check(expression)
		if want == "" {
			require.NoError(t, err, expression)
			continue
		}
		require.EqualError(t, err, want, expression)
	}
}

// allocated returns how many bytes this process has allocated, with tests beside.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
