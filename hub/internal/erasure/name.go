package erasure

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// named tells whether a text names the person. Where it names people in members of their
// own it has to be one of those, whole: a son may have his father's name and one more.
// Else the name may stand anywhere in it.
func (p *person) named(raw, text []byte) bool {
	if len(p.names) == 0 {
		return false
	}
	var tree any
	if json.Unmarshal(raw, &tree) == nil {
		if names := namesIn(tree, nil); len(names) > 0 {
			return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(p.names, name) })
		}
	}
	words := " " + folded(string(text)) + " "
	return slices.ContainsFunc(p.names, func(name string) bool { return strings.Contains(words, " "+name+" ") })
}

// namesIn adds the names of people that a JSON value has in members of their own.
func namesIn(tree any, names []string) []string {
	switch value := tree.(type) {
	case map[string]any:
		for member, inner := range value {
			if text, ok := inner.(string); ok && slices.Contains(nameNames, member) {
				if name := folded(text); name != "" {
					names = append(names, name)
				}
				continue
			}
			names = namesIn(inner, names)
		}
	case []any:
		for _, inner := range value {
			names = namesIn(inner, names)
		}
	}
	return names
}

// folded is a text's words without case, accents and what stands between them.
func folded(text string) string {
	var words strings.Builder
	apart := false
	for _, c := range norm.NFD.String(text) {
		switch {
		case unicode.Is(unicode.Mn, c):
		case unicode.IsLetter(c) || unicode.IsDigit(c):
			if apart && words.Len() > 0 {
				words.WriteByte(' ')
			}
			apart = false
			words.WriteRune(unicode.ToLower(c))
		default:
			apart = true
		}
	}
	return words.String()
}
