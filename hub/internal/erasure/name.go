package erasure

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// isNamedIn reports whether a text names the person. If it has members for names, one of
// those must be the whole name: a son may have his father's name and one more. Otherwise
// the name may stand anywhere in it.
func (p *person) isNamedIn(raw, text []byte) bool {
	if len(p.names) == 0 {
		return false
	}
	var document any
	if json.Unmarshal(raw, &document) == nil {
		if names := appendNames(nil, document); len(names) > 0 {
			return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(p.names, name) })
		}
	}
	words := " " + normalizeName(string(text)) + " "
	return slices.ContainsFunc(p.names, func(name string) bool { return strings.Contains(words, " "+name+" ") })
}

// appendNames appends the normalized names in a JSON value's members for names.
func appendNames(names []string, value any) []string {
	switch value := value.(type) {
	case map[string]any:
		for member, inner := range value {
			if text, ok := inner.(string); ok && slices.Contains(nameMembers, member) {
				if name := normalizeName(text); name != "" {
					names = append(names, name)
				}
				continue
			}
			names = appendNames(names, inner)
		}
	case []any:
		for _, inner := range value {
			names = appendNames(names, inner)
		}
	}
	return names
}

// normalizeName returns a text's words in lower case, without accents, separated by one
// space.
func normalizeName(text string) string {
	var words strings.Builder
	isSeparated := false
	for _, c := range norm.NFD.String(text) {
		switch {
		case unicode.Is(unicode.Mn, c):
		case unicode.IsLetter(c) || unicode.IsDigit(c):
			if isSeparated && words.Len() > 0 {
				words.WriteByte(' ')
			}
			isSeparated = false
			words.WriteRune(unicode.ToLower(c))
		default:
			isSeparated = true
		}
	}
	return words.String()
}
