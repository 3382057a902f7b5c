// Package terminal makes text safe to print on a terminal.
package terminal

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable returns text from elsewhere with everything escaped that is neither visible
// nor a space: a terminal may obey control characters.
func Printable(text string) string {
	unsafe := func(r rune) bool { return !unicode.IsPrint(r) }
	if !strings.ContainsFunc(text, unsafe) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if !unsafe(r) {
			out.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}
