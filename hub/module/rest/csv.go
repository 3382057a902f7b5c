package rest

import (
	"strings"
	"unicode/utf8"
)

// formulaStarts are the characters with which formulas begin, in some languages fullwidth.
const formulaStarts = "=+-@\t\r＝＋－＠"

// EscapeCSVCell returns text for a cell of a CSV file. It puts a quote before text that a
// spreadsheet would run as a formula. Imports remove one quote before such text, and before a
// digit, so that text with quotes there gets one more.
func EscapeCSVCell(text string) string {
	rest := strings.TrimLeft(text, "'")
	first, _ := utf8.DecodeRuneInString(rest)
	isQuotedDigit := len(rest) < len(text) && first >= '0' && first <= '9'
	if rest != "" && (strings.ContainsRune(formulaStarts, first) || isQuotedDigit) {
		return "'" + text
	}
	return text
}
