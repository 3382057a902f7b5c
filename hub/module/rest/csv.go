package rest

import "strings"

// EscapeCSVCell returns text for a cell of a CSV file. It puts a quote before text that a
// spreadsheet would run as a formula.
func EscapeCSVCell(text string) string {
	if text != "" && strings.IndexByte("=+-@\t\r", text[0]) >= 0 {
		return "'" + text
	}
	return text
}
