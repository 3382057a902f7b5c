package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// jsonCode returns the code with which Check refuses body, or "".
func jsonCode(t testing.TB, body string, rules Rules) string {
	t.Helper()
	err := Check([]byte(body), rules)
	if err == nil {
		return ""
	}
	var entry *hub.Error
	require.ErrorAs(t, err, &entry)
	require.ErrorIs(t, err, hub.ErrMalformed)
	return entry.Code
}

func TestRules(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	deepObjects := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, test := range []struct{ body, code string }{
		{`{}`, ""},
		{`[]`, ""},
		{` {"a" : [1, -0.5e+10, true, false, null, "x"] , "b":{}} `, ""},
		{"\t\r\n1\n", ""},
		{`"é 漢 😀 \u00e9 \ud83d\ude00 \uD83D\uDE00 \" \\ \/ \b\f\n\r\t"`, ""},
		{`"` + strings.Repeat("abcdefg", 20) + `"`, ""},
		{``, "json_empty"},
		{"  \n", "json_empty"},
		{"\xef\xbb\xbf{}", "json_byte_order_mark"},
		{`{} {}`, "json_trailing_data"},
		{`{}x`, "json_trailing_data"},
		{"1\x00", "json_trailing_data"},
		{deep(64), ""},
		{deep(65), "json_too_deep"},
		{deepObjects(64), ""},
		{deepObjects(65), "json_too_deep"},
		{strings.Repeat("[", 1<<20), "json_too_deep"},
		{"\"\xff\"", "json_invalid_utf8"},
		{"\"12345678901234567\xc3\"", "json_invalid_utf8"},
		{"\"\xed\xa0\x80\"", "json_invalid_utf8"}, // a surrogate written as UTF-8
		{"\"\xc0\x80\"", "json_invalid_utf8"},     // an overlong NUL
		{`"\u0000"`, "json_null_character"},
		{`{"\u0000":1}`, "json_null_character"},
		{"\"\x00\"", "json_syntax"},
		{"\"a\nb\"", "json_syntax"},
		{"\"1234567890\x1f\"", "json_syntax"},
		{`"\ud800"`, "json_lone_surrogate"},
		{`"\udc00"`, "json_lone_surrogate"},
		{`"\ud800\u0041"`, "json_lone_surrogate"},
		{`"\ud800x"`, "json_lone_surrogate"},
		{`"\udfff\ud800"`, "json_lone_surrogate"},
		{`1234567890123456789012345678901`, ""},
		{`12345678901234567890123456789012`, ""},
		{`123456789012345678901234567890123`, "json_number_too_long"},
		{`[-1.2345678901234567890123456789e10]`, "json_number_too_long"},
		{`1e400`, ""},
		{`01`, "json_trailing_data"},
		{`[01]`, "json_syntax"},
		{`1.`, "json_syntax"},
		{`-`, "json_syntax"},
		{`.5`, "json_syntax"},
		{`+1`, "json_syntax"},
		{`1e`, "json_syntax"},
		{`NaN`, "json_syntax"},
		{`nul`, "json_syntax"},
		{`{"a":1,}`, "json_syntax"},
		{`[1,]`, "json_syntax"},
		{`{a:1}`, "json_syntax"},
		{`{"a" 1}`, "json_syntax"},
		{`{"a":}`, "json_syntax"},
		{`{"a":1`, "json_syntax"},
		{`[1`, "json_syntax"},
		{`"abc`, "json_syntax"},
		{`"\`, "json_syntax"},
		{`"\x41"`, "json_syntax"},
		{`"\u12g4"`, "json_syntax"},
		{`"\u12`, "json_syntax"},
		{`{"a":1,"a":2}`, ""},
		{"[\u00a01]", "json_syntax"}, // not white space in JSON
		{`// x`, "json_syntax"},
	} {
		require.Equal(t, test.code, jsonCode(t, test.body, Rules{}), "%.80q", test.body)
	}
}

func TestCheckUniqueKeys(t *testing.T) {
	t.Parallel()
	unique := Rules{UniqueKeys: true}
	many := func(n int, more string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"key%d":{"x":%d,"y":[{"x":1}]},`, i, i)
		}
		return "{" + b.String() + more + "}"
	}
	for _, test := range []struct {
		body string
		dup  bool
	}{
		{`{"a":1,"b":2}`, false},
		{`{"a":1,"a":2}`, true},
		{`{"a":1,"\u0061":2}`, true},
		{`{"\u00e9":1,"é":2}`, true},
		{`{"\ud83d\ude00":1,"😀":2}`, true},
		{`{"a":1,"A":2}`, false},
		{`{"":1,"":2}`, true},
		{`{"a":{"a":{"a":1}},"b":{"a":1}}`, false},
		{`[{"a":1},{"a":1}]`, false},
		{`{"x":[{"a":1,"b":2,"a":3}]}`, true},
		{`{"a":{"b":1,"c":1},"b":{"c":1},"a":1}`, true},
		{many(15, `"z":1`), false},
		{many(16, `"z":1`), false},
		{many(500, `"z":1`), false},
		{many(500, `"key0":1`), true},
		{many(500, `"key499":1`), true},
		{many(500, `"\u006bey250":1`), true},
	} {
		want := ""
		if test.dup {
			want = "json_duplicate_key"
		}
		require.Equal(t, want, jsonCode(t, test.body, unique), "%.80q", test.body)
		require.Empty(t, jsonCode(t, test.body, Rules{}), "%.80q", test.body)
	}
}

func TestCheckErrorsHaveOffsetsAndNoContent(t *testing.T) {
	t.Parallel()
	err := Check([]byte(`{"password":"hunter2" "x"}`), Rules{})
	require.EqualError(t, err, "The body is not valid JSON (byte 22).")
	err = Check([]byte(`{"secret":1,"secret":2}`), Rules{UniqueKeys: true})
	require.EqualError(t, err, "The body is not allowed to have the same key twice in one object (byte 12).")
}

func TestTopLevel(t *testing.T) {
	t.Parallel()
	var got []string
	collect := func(key, value []byte) error {
		got = append(got, string(key)+"="+string(value))
		return nil
	}
	body := ` { "event_type" : "a.b" , "data": { "x" : [ 1 , {"event_type":2} ] }  ,"\u0069d":null,"n":-1.5}`
	require.NoError(t, VisitMembers([]byte(body), Rules{UniqueKeys: true}, collect))
	require.Equal(t, []string{`event_type="a.b"`, `data={ "x" : [ 1 , {"event_type":2} ] }`, `id=null`, `n=-1.5`}, got)

	got = nil
	require.NoError(t, VisitMembers([]byte(`{}`), Rules{}, collect))
	require.Empty(t, got)

	for _, body := range []string{`[]`, `1`, ` "x"`, `null`} {
		require.ErrorIs(t, VisitMembers([]byte(body), Rules{}, collect), hub.ErrInvalid, body)
	}
	for _, body := range []string{``, `[`, `{"a":1}}`, `{"a":1`, `{"a":1,"b":{]}`} {
		require.ErrorIs(t, VisitMembers([]byte(body), Rules{}, collect), hub.ErrMalformed, body)
	}
	require.ErrorIs(t, VisitMembers([]byte(`{"a":1,"a":1}`), Rules{UniqueKeys: true}, collect), hub.ErrMalformed)

	stop := errors.New("stop")
	calls := 0
	err := VisitMembers([]byte(`{"a":1,"b":2}`), Rules{}, func(_, _ []byte) error { calls++; return stop })
	require.Equal(t, stop, err)
	require.Equal(t, 1, calls)
	for _, body := range []string{`{"a":1,"b":`, `{"a":1,"b":{"c":1,"c":2}}`, `{"a":1,"a":2}`, `{"a":1} x`, "{\"a\":1,\"b\":\"\xff\"}"} {
		err := VisitMembers([]byte(body), Rules{UniqueKeys: true}, func(_, _ []byte) error { return stop })
		require.ErrorIs(t, err, hub.ErrMalformed, "what is no JSON is said first: %s", body)
	}
}

func TestCheckDoesNotAllocate(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts the whole process
	body := kilobyte()
	var id, data []byte
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if Check(body, Rules{UniqueKeys: true}) != nil {
			panic("refused")
		}
		err := VisitMembers(body, Rules{UniqueKeys: true}, func(key, value []byte) error {
			switch string(key) {
			case "id":
				id = value
			case "data":
				data = value
			}
			return nil
		})
		if err != nil {
			panic(err)
		}
	}))
	require.NotEmpty(t, id)
	require.NotEmpty(t, data)
}

// kilobyte is a body like those that products publish.
func kilobyte() []byte {
	return []byte(`{"id":"evt_0123456789abcdef","event_type":"appointment.created","correlation_id":"0198c0de-1111-7222-8333-444455556666","data":{` +
		`"appointment_id":"0198c0de-aaaa-7bbb-8ccc-ddddeeeeffff","patient":{"name":"João da Conceição","email":"joao@example.com","phone":"+5511987654321","cpf":"529.982.247-25"},` +
		`"service":{"id":17,"name":"Consulta de rotina","price":150.00,"duration_minutes":45},"starts_at":"2026-01-02T03:04:05Z","ends_at":"2026-01-02T03:49:05Z",` +
		`"tags":["first","online","insurance","reminder"],"notes":"` + strings.Repeat("Paciente pediu para confirmar por telefone. ", 9) + `","confirmed":true,"cancelled_at":null}}`)
}

func BenchmarkCheck(b *testing.B) {
	body := kilobyte()
	b.Run("grammar", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			_ = Check(body, Rules{})
		}
	})
	b.Run("unique", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			_ = Check(body, Rules{UniqueKeys: true})
		}
	})
	b.Run("toplevel", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		var data []byte
		for b.Loop() {
			_ = VisitMembers(body, Rules{UniqueKeys: true}, func(key, value []byte) error {
				if string(key) == "data" {
					data = value
				}
				return nil
			})
		}
		_ = data
	})
	b.Run("encoding/json.Valid", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			_ = json.Valid(body)
		}
	})
}

// FuzzCheck compares with encoding/json: what we take, it takes; what we
// refuse and it takes breaks the rule we name, by another way of finding out.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5e-3,{"b":null}],"a":"\u00e9\ud83d\ude00"}`, `"\ud800"`, `"\u0000"`, "\xef\xbb\xbf1", "\"\xff\"",
		strings.Repeat("[", 65) + strings.Repeat("]", 65), `123456789012345678901234567890123`, ` [ ] `, `{"a":1,"\u0061":2}`, `1 2`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Add(kilobyte())
	f.Fuzz(func(t *testing.T, body []byte) {
		loose := jsonCode(t, string(body), Rules{})
		strict := jsonCode(t, string(body), Rules{UniqueKeys: true})
		valid := json.Valid(body)
		facts := factsOf(body, valid)
		switch loose {
		case "":
			require.True(t, valid)
			require.Equal(t, jsonFacts{duplicates: facts.duplicates}, facts)
			require.Equal(t, facts.duplicates, strict == "json_duplicate_key")
			require.Equal(t, facts.duplicates, strict != "")
			if trimmed := bytes.TrimLeft(body, " \t\r\n"); trimmed[0] == '{' {
				requireSameMembers(t, body)
			}
			return
		case "json_too_deep":
			require.True(t, !valid || facts.deep)
		case "json_invalid_utf8":
			require.True(t, facts.badUTF8)
		case "json_null_character":
			require.Contains(t, string(body), `\u0000`)
		case "json_lone_surrogate":
			require.True(t, !valid || facts.replaced)
		case "json_number_too_long":
			require.True(t, !valid || facts.longNumber)
		default:
			require.False(t, valid, "%s for valid JSON", loose)
		}
		require.NotEmpty(t, strict)
	})
}

// requireSameMembers compares TopLevel with a decoder's idea of the members.
func requireSameMembers(t *testing.T, body []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(body, &want))
	got := map[string]json.RawMessage{}
	require.NoError(t, VisitMembers(body, Rules{}, func(key, value []byte) error {
		got[string(key)] = value
		return nil
	}))
	require.Equal(t, want, got)
}

// jsonFacts is what a decoder finds out about a body.
type jsonFacts struct{ deep, badUTF8, replaced, longNumber, duplicates bool }

func factsOf(body []byte, valid bool) (facts jsonFacts) {
	facts.badUTF8 = !utf8.Valid(body)
	if !valid {
		return facts
	}
	type level struct {
		keys  map[string]bool // nil for an array
		value bool            // the next token in an object is a value
	}
	var levels []level
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	// U+FFFD that is not in the body as such stands for half a pair.
	written := bytes.Contains(body, []byte("\uFFFD")) || bytes.Contains(bytes.ToLower(body), []byte(`\ufffd`))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return facts
		}
		if err != nil { // the decoder's own limit on depth
			facts.deep = true
			return facts
		}
		if text, ok := token.(string); ok && strings.ContainsRune(text, utf8.RuneError) && !written && !facts.badUTF8 {
			facts.replaced = true
		}
		if number, ok := token.(json.Number); ok && len(number) > maxNumber {
			facts.longNumber = true
		}
		top := len(levels) - 1
		delim, isDelim := token.(json.Delim)
		if isDelim && (delim == '}' || delim == ']') {
			levels = levels[:top]
			continue
		}
		if top >= 0 && levels[top].keys != nil {
			if key, ok := token.(string); ok && !levels[top].value {
				facts.duplicates = facts.duplicates || levels[top].keys[key]
				levels[top].keys[key] = true
				levels[top].value = true
				continue
			}
			levels[top].value = false
		}
		if isDelim {
			object := level{}
			if delim == '{' {
				object.keys = map[string]bool{}
			}
			levels = append(levels, object)
			facts.deep = facts.deep || len(levels) > maxDepth
		}
	}
}

// However many keys an object has, and whichever is repeated.
func TestRepeatedKeys(t *testing.T) {
	t.Parallel()
	for _, count := range []int{fewKeys - 1, fewKeys, fewKeys + 1, 3 * inlineKeys} {
		same, different := make([]string, count), make([]string, count)
		for i := range count {
			same[i], different[i] = `"a":1`, fmt.Sprintf(`"k%d":1`, i)
		}
		require.Equal(t, "json_duplicate_key", jsonCode(t, "{"+strings.Join(same, ",")+"}", Rules{UniqueKeys: true}), count)
		require.Empty(t, jsonCode(t, "{"+strings.Join(different, ",")+"}", Rules{UniqueKeys: true}), count)
		for i := range count - 1 {
			repeated := append(append([]string{}, different[:count-1]...), different[i])
			require.Equal(t, "json_duplicate_key", jsonCode(t, "{"+strings.Join(repeated, ",")+"}", Rules{UniqueKeys: true}), count)
		}
	}
	require.Empty(t, jsonCode(t, `"\uD834\uDD1E"`, Rules{}))
	require.Equal(t, "json_lone_surrogate", jsonCode(t, `"\uD834"`, Rules{}))
	require.Equal(t, "json_lone_surrogate", jsonCode(t, `"\uDD1E"`, Rules{}))
	for body, offset := range map[string]string{`"\u0041`: "(byte 7)", `"a\x"`: "(byte 3)", `"a\u004`: "(byte 2)"} {
		require.ErrorContains(t, Check([]byte(body), Rules{}), offset, body)
	}
}

func TestNumbersAndEscapesAtTheirBounds(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("1", maxNumber)
	for body, want := range map[string]string{
		longest: "", longest + "1": "json_number_too_long", "-" + longest: "json_number_too_long", "[" + longest + "]": "", "0." + longest[2:]: "", "0." + longest: "json_number_too_long",
		"01": "json_trailing_data", "1.": "json_syntax", "1e": "json_syntax", "1e+": "json_syntax", "-": "json_syntax", "1E-9": "", "1e+09": "", "1e+-9": "json_syntax", "1:": "json_trailing_data", "1/": "json_trailing_data",
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth): "", strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1): "json_too_deep",
		`"\u09af\u09AF"`: "", `"\u000/"`: "json_syntax", `"\u000:"`: "json_syntax", `"\u000@"`: "json_syntax", `"\u000G"`: "json_syntax", "\"\\u000`\"": "json_syntax", `"\u000g"`: "json_syntax",
		`"\ud800\udc00"`: "", `"\udbff\udfff"`: "", `"\ud7ff"`: "", `"\ue000"`: "", `"\ud800"`: "json_lone_surrogate", `"\udbff"`: "json_lone_surrogate", `"\udc00"`: "json_lone_surrogate", `"\udfff"`: "json_lone_surrogate",
		`"\ud800\udbff"`: "json_lone_surrogate", `"\ud800\ue000"`: "json_lone_surrogate", `"\ud800xudc00"`: "json_lone_surrogate", `"\ud800\xdc00"`: "json_lone_surrogate",
		"{": "json_syntax", "{1}": "json_syntax", `{"a":1,`: "json_syntax", `{"a":1,2}`: "json_syntax", `{"a"1}`: "json_syntax", `{"a":}`: "json_syntax", "{\"\x80\":1}": "json_invalid_utf8",
		"trux": "json_syntax", "tru": "json_syntax", "nulL": "json_syntax", "falsey": "json_trailing_data", `"\`: "json_syntax", `"\u`: "json_syntax", `"`: "json_syntax",
		"\"\x80\"": "json_invalid_utf8", "\"\ufffd\"": "", "\"aaaaaaa\x80bbbbbbbb\"": "json_invalid_utf8", "\"aaaaaaa\x1fbbbbbbbb\"": "json_syntax", "\"aaaaaaa bbbbbbbb\"": "", "\"aaaaaaaa\"": "",
		`"\udc00\udc00"`: "json_lone_surrogate", `"\ud800\`: "json_lone_surrogate", `"\ud800\u`: "json_lone_surrogate", `"\ud800\udc0`: "json_lone_surrogate",
		"\"\x1f\"": "json_syntax", "\"\x20\"": "", "\"\x7f\"": "", "\xef\xbb\xbf": "json_byte_order_mark", "\xef\xbb\xbf1": "json_byte_order_mark", "": "json_empty", " ": "json_empty", " 1 ": "", "1 1": "json_trailing_data",
	} {
		require.Equal(t, want, jsonCode(t, body, Rules{}), "%q", body)
	}
}
