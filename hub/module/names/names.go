// Package names has the rules for names of people and things: one line with at least one visible character.
package names

import (
	"strings"
	"unicode"
)

// HasVisible reports whether at least one character of a text can be seen.
func HasVisible(text string) bool { return strings.ContainsFunc(text, isVisible) }

func isVisible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }

// IsOneLine reports whether a text is one line without control characters, and without
// invisible ones that change how the surrounding text is displayed.
func IsOneLine(text string) bool { return !strings.ContainsFunc(text, isMisleading) }

// isMisleading reports whether a character breaks or turns a line. Joiners are allowed:
// names in some scripts need them.
func isMisleading(r rune) bool { return isBreak(r) || isDirection(r) }

// isBreak reports whether a character is a control or a line separator.
func isBreak(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// isDirection reports whether a character is a bidirectional control or the byte order mark.
func isDirection(r rune) bool {
	return '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069' || r == '\ufeff'
}

// Clean returns a received name on one line: spaces in place of line ends and controls, and
// without what turns the line. A name without anything visible becomes "".
func Clean(name string) string {
	if !HasVisible(name) {
		return ""
	}
	if IsOneLine(name) {
		return strings.TrimSpace(name)
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case isDirection(r):
			return -1
		case isBreak(r):
			return ' '
		}
		return r
	}, name)
	return strings.Join(strings.Fields(name), " ")
}

// RemoveInvisible returns a text without format characters that nobody sees, such as zero-width
// spaces and soft hyphens: a name with one is the same name. Kept are joiners that scripts and
// emoji need, and the characters that [IsOneLine] refuses.
func RemoveInvisible(text string) string {
	if !strings.ContainsFunc(text, isFormat) {
		return text
	}
	runes := []rune(text)
	var kept []rune
	for i, r := range runes {
		switch {
		case isFormat(r) && !(isJoiner(r) && i > 0 && i+1 < len(runes) && canBeJoined(runes[i-1]) && canBeJoined(runes[i+1])):
		case r == ' ' && len(kept) > 0 && kept[len(kept)-1] == ' ': // the character was between spaces
		default:
			kept = append(kept, r)
		}
	}
	return strings.Trim(string(kept), " ")
}

// isFormat reports whether a character has no form of its own, and does not turn the line.
func isFormat(r rune) bool {
	return unicode.Is(unicode.Cf, r) && !isDirection(r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// canBeJoined reports whether a character can be part of what a joiner joins: an emoji, or a
// letter of a script that has such forms.
func canBeJoined(r rune) bool {
	return isVisible(r) && r > unicode.MaxASCII && !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
}
