// Package like makes patterns for SQL's LIKE and ILIKE.
package like

import "strings"

var wildcards = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// Escape escapes the wildcards % and _ in a text, so that a pattern made of it finds the text
// itself. The escape character is the backslash, which is PostgreSQL's default.
func Escape(text string) string { return wildcards.Replace(text) }

// Contains returns the pattern of all that contain a text.
func Contains(text string) string { return "%" + Escape(text) + "%" }
