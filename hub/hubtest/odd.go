package hubtest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// OddTexts are texts that something between the socket and the database may choke on.
func OddTexts() []string {
	return []string{
		"", " ", "\x00", "a\x00b", "\xff\xfe", "\xed\xa0\x80", "%", "%%_\\", "'", `"`, "';--", "\\", "\u202e\u0000", "\u202e5511", "\u2067\u200f", "🙂", "👩‍👩‍👧‍👦", "ſ", "İ", "\r\n",
		"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "{00000000-0000-0000-0000-000000000000}",
		"evt_0000000000000000", "evt_ffffffffffffffff", "0", "-1", "1e999", "NaN", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
		"0000-01-01T00:00:00Z", "infinity", "+5511999999999", "[", "{}", "null", "&", strings.Repeat("ü", 150), strings.Repeat("(", 190),
	}
}

// LongText is a text of a megabyte.
func LongText() string { return strings.Repeat("ü", 512<<10) }

// indexBreaking is the length of a text, in bytes, that passes the limits of bodies, and that no
// index of PostgreSQL takes.
const indexBreaking = 100_000

// oddValues returns JSON values of each type, as they are written: of numbers that are too
// large, texts that are none, and a long text.
func oddValues() []string {
	values := append(oddWithoutTexts(),
		`"a\u0000b"`, `"\udc00x"`, `"2026-02-30T00:00:00Z"`, `"0000-01-01T00:00:00Z"`, `"9999-12-31T23:59:59-23:59"`, `"99999999999999"`, `"99999999999999999999"`, "\"\xed\xa0\x80\"",
	)
	return append(values, written(append(OddTexts(), strings.Repeat("ü", indexBreaking/2)))...)
}

// oddInsteadOfContainer are the values of [oddValues] that stand where an object or an array
// belongs: a decoder refuses every text there, whatever it says, so that of these a few do.
func oddInsteadOfContainer() []string {
	return append(oddWithoutTexts(), written([]string{"", "🙂", "0", "null", "[", "{}", "0000-01-01T00:00:00Z", strings.Repeat("ü", indexBreaking/2)})...)
}

// oddWithoutTexts are values that are no texts, or texts that are none.
func oddWithoutTexts() []string {
	return []string{
		"null", "true", "0", "-1", "1.5", "1e308", "1e999", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "[]", "{}", "[null]", "[[]]", `{"":null}`,
		`"\u0000"`, `"\ud800"`, "\"\xff\xfe\"",
	}
}

// written returns texts as JSON.
func written(texts []string) (values []string) {
	for _, text := range texts {
		if raw, err := json.Marshal(text); err == nil {
			values = append(values, string(raw))
		}
	}
	return values
}

// oddPlace stands for the value that is replaced.
const oddPlace = "the odd value"

// OddBodies returns bodies that are a valid JSON body but for one value in it, which is odd in
// each way: those of objects and arrays at any depth, and the body as a whole. With names only
// values in members of these names are odd: for bodies whose other members another list covers.
func OddBodies(valid any, names ...string) ([]string, error) {
	raw, err := json.Marshal(valid)
	if err != nil {
		return nil, err
	}
	var decoded any
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return nil, err
	}
	var bodies []string
	for _, replaced := range replaceEach(decoded, names) {
		text, err := json.Marshal(replaced.body)
		if err != nil {
			return nil, err
		}
		for _, value := range replaced.values {
			bodies = append(bodies, strings.Replace(string(text), `"`+oddPlace+`"`, value, 1))
		}
	}
	return bodies, nil
}

// replacement is a body in which one value is replaced by oddPlace, and what to put there.
type replacement struct {
	body   any
	values []string
}

// replaceEach returns copies of a value in each of which one value is replaced by oddPlace; with
// names, one in a member of these.
func replaceEach(value any, names []string) (list []replacement) {
	values := oddValues
	switch value.(type) {
	case map[string]any, []any:
		values = oddInsteadOfContainer
	}
	if len(names) == 0 {
		list = append(list, replacement{oddPlace, values()})
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			below := names
			if slices.Contains(names, name) {
				below = nil
			}
			for _, replaced := range replaceEach(value[name], below) {
				changed := maps.Clone(value)
				changed[name] = replaced.body
				list = append(list, replacement{changed, replaced.values})
			}
		}
	case []any:
		for i := range value {
			for _, replaced := range replaceEach(value[i], names) {
				changed := slices.Clone(value)
				changed[i] = replaced.body
				list = append(list, replacement{changed, replaced.values})
			}
		}
	}
	return list
}
