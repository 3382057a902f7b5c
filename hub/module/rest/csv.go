package rest

import "strings"

// EscapeCSVCell is a text as a cell of a CSV table: what a spreadsheet would take for a formula
// gets a quote in front.
func EscapeCSVCell(text string) string {
	if text != "" && strings.IndexByte("=+-@\t\r", text[0]) >= 0 {
		return "'" + text
	}
	return text
}
