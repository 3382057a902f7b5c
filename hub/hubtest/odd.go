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

// oddValues returns JSON values of each type, as they are written: of numbers that are too
// large, texts that are none, and a text of a megabyte.
func oddValues() []string {
	values := []string{
		"null", "true", "0", "-1", "1.5", "1e308", "1e999", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "[]", "{}", "[null]", "[[]]", `{"":null}`,
		`"\u0000"`, `"a\u0000b"`, `"\ud800"`, `"\udc00x"`, `"2026-02-30T00:00:00Z"`, `"0000-01-01T00:00:00Z"`, `"9999-12-31T23:59:59-23:59"`, `"99999999999999"`, `"99999999999999999999"`,
	}
	for _, text := range append(OddTexts(), LongText()) {
		if raw, err := json.Marshal(text); err == nil {
			values = append(values, string(raw))
		}
	}
	return append(values, "\"\xff\xfe\"", "\"\xed\xa0\x80\"")
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
		text, err := json.Marshal(replaced)
		if err != nil {
			return nil, err
		}
		for _, value := range oddValues() {
			bodies = append(bodies, strings.Replace(string(text), `"`+oddPlace+`"`, value, 1))
		}
	}
	return bodies, nil
}

// replaceEach returns copies of a value in each of which one value is replaced by oddPlace; with
// names, one in a member of these.
func replaceEach(value any, names []string) (list []any) {
	if len(names) == 0 {
		list = append(list, oddPlace)
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
				changed[name] = replaced
				list = append(list, changed)
			}
		}
	case []any:
		for i := range value {
			for _, replaced := range replaceEach(value[i], names) {
				changed := slices.Clone(value)
				changed[i] = replaced
				list = append(list, changed)
			}
		}
	}
	return list
}
