package eventtype_test

import (
	"encoding/json"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/eventtype"
)

// matchedPatterns are expressions of identifiers, some of them sequences of runs, and texts that
// match them and that do not.
var matchedPatterns = map[string][]string{
	`^$`:             {"", "a"},
	`^[0-9A-Za-z]*$`: {"", "aZ9", "aZ9-", "é", strings.Repeat("x", 1000)},
	`^\d+$`:          {"", "1", "123", "12a", "1\n"},
	`^[a-z]?$`:       {"", "a", "aa", "A"},
	`^[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}$`: {"123.456.789-09", "123.456.789-0", "123x456.789-09", "123.456.789-099"},
	`^([0-9]{5})-?([0-9]{3})$`:                {"01310-100", "01310100", "01310--100", "0131-100"},
	`^[a-z][a-z0-9_]{0,3}$`:                   {"a", "a1_b", "a1_bc", "1a", ""},
	`^[^@\s]+@[^@\s]+$`:                       {"a@b", "a@", "@b", "a@b@c", "é@ü", "a b@c"},
	`^.{2,4}$`:                                {"a", "ab", "äöüß", "abcde", "a\nb"},
	`(?s)^.{2,4}$`:                            {"a", "a\nb", "abcde"},
	`(?i)^ab[c]$`:                             {"ABC", "abc", "abd"},
	`^a*a$`:                                   {"a", "aa", "b", ""},
	`^a?b?a$`:                                 {"a", "ba", "aba", "ab", "aa"},
	`^a*b*c$`:                                 {"c", "ac", "abc", "ba", "aab"},
	`^[a-c]*[c-e]$`:                           {"abc", "c", "ab", "cce"},
	`^[c-e]*[a-c]$`:                           {"edc", "c", "de"},
	`^[a-c]*[d-f]$`:                           {"abcd", "d", "abc", "g"},
	`^[\x{100}-\x{200}\x{300}]+$`:             {"\u0100\u0200\u0300", "\u00ff", "\u0201", "\u02ff", "\u0301"},
	`^[\x{80}-\x{ff}]*[\x{ff}-\x{100}]$`:      {"\u0080\u00ff", "\u0100", "\u0080"},
	`^[\x00-\x7f]$`:                           {"\x00", "\x7f", "\u0080"},
	`^a+b{2}$`:                                {"abb", "aabb", "bb", "ab", "abbb"},
	`^a?b+a*$`:                                {"b", "abba", "a", "aab"},
	`^a{0,2}b*a$`:                             {"a", "aa", "aaa", "aaaa", "aba"},
	`^(?:ab)+$`:                               {"ab", "abab", "aab", "abb"},
	`^(ab)+$`:                                 {"ab", "abab", "aba", ""},
	`^(a|bc)$`:                                {"a", "bc", "abc"},
	`^(?m:a)$`:                                {"a", "a\n"},
	`(?m)^a$`:                                 {"a", "b\na", "b\nc"},
	`[0-9]+`:                                  {"a1", "a", ""},
	`^[0-9]+`:                                 {"1a", "a1"},
	`[0-9]+$`:                                 {"1a", "a1"},
	`\bab\b`:                                  {"x ab", "xab"},
	`^\x{1F600}+[\x{80}-\x{10FFFF}]$`:         {"😀😀", "😀é", "😀", "é"},
}

// A pattern matches what Go's regular expressions match, whichever way it is matched.
func TestPatternsMatchLikeRegularExpressions(t *testing.T) {
	t.Parallel()
	for pattern, texts := range matchedPatterns {
		matched := 0
		for _, text := range texts {
			if requireSameMatch(t, pattern, text) {
				matched++
			}
		}
		require.NotZero(t, matched, pattern)
	}
}

func FuzzPatternsMatchLikeRegularExpressions(f *testing.F) {
	for pattern, texts := range matchedPatterns {
		for _, text := range texts {
			f.Add(pattern, text)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if _, err := syntax.Parse(pattern, syntax.Perl); err != nil || !utf8.ValidString(pattern) || !utf8.ValidString(text) || len(pattern) > 100 {
			return
		}
		requireSameMatch(t, pattern, text)
	})
}

// requireSameMatch returns whether a text matches a pattern.
func requireSameMatch(t *testing.T, pattern, text string) bool {
	t.Helper()
	quoted, err := json.Marshal(pattern)
	require.NoError(t, err)
	schema, err := eventtype.Compile([]byte(`{"pattern":` + string(quoted) + `}`))
	if err != nil {
		require.ErrorContains(t, err, "regular expression", pattern)
		return false
	}
	data, err := json.Marshal(text)
	require.NoError(t, err)
	matched := regexp.MustCompile(pattern).MatchString(text)
	require.Equal(t, matched, schema.Check(data) == nil, "%s: %q", pattern, text)
	return matched
}
