package store

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// FoldName returns a name in lower case without accents, like the column name_search.
func FoldName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(strings.ToLower(name)))
}
