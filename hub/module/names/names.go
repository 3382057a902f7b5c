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
