// Package table reads what all tables of imports have in common: character sets, separators
// and headings, as spreadsheets write them (CSV).
package table

import "strings"

// Separators are what stands between the cells of a line.
const Separators = ",;\t|"

// Separator returns the separator that a header has most of, outside quotation marks. It
// is a comma for a header without any.
func Separator(header string) byte {
	var counts [len(Separators)]int
	quoted := false
	for i := range len(header) {
		if header[i] == '"' {
			quoted = !quoted
		}
		if separator := strings.IndexByte(Separators, header[i]); separator >= 0 && !quoted {
			counts[separator]++
		}
	}
	best := 0
	for i, count := range counts {
		if count > counts[best] {
			best = i
		}
	}
	return Separators[best]
}

// accents are those that occur in headings.
var accents = strings.NewReplacer("á", "a", "à", "a", "â", "a", "ã", "a", "é", "e", "ê", "e", "í", "i", "ó", "o", "ô", "o", "õ", "o", "ú", "u", "ü", "u", "ç", "c")

// Fold returns a text in lower case, without the accents of Portuguese.
func Fold(text string) string { return accents.Replace(strings.ToLower(text)) }
