package importfile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Statuses of patients.
const (
	active   = "active"
	inactive = "inactive"
)

// setIfEmpty sets a field that has no value yet.
func setIfEmpty(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// cleanText returns a text on one line: white space becomes single spaces. ok is false if
// the text is not UTF-8 or has control characters.
func cleanText(s string) (text string, ok bool) {
	if !utf8.ValidString(s) {
		return "", false
	}
	for _, r := range s {
		if unicode.IsControl(r) && !unicode.IsSpace(r) || r == unicode.ReplacementChar {
			return "", false
		}
	}
	// In spreadsheets an apostrophe marks what would be a formula as text.
	if len(s) > 1 && s[0] == '\'' && strings.IndexByte("=+-@\t", s[1]) >= 0 {
		s = s[1:]
	}
	return strings.Join(strings.Fields(s), " "), true
}
