package care

import (
	"regexp"
	"strings"
)

// Codes of diagnoses by ICD-10 (CID-10 in Brazil).
var (
	// Behind their name, however they are written and several of them: CID f32, CID-10: F 32.1.
	namedCodes = regexp.MustCompile(`(?i)\b(?:cid|icd)(?:[- ]?1[01])?[^0-9a-z]{0,3}(` + code + `(?:\s*(?:[,;/+]|\b(?:e|and|y)\b)\s*` + code + `)*)\b`)
	// In capitals, or with their point: F32, F321, F32.1, f32.1, F32.1X.
	plainCodes = regexp.MustCompile(`\b(?:[A-Z][0-9]{2}(?:\.[0-9Xx][0-9A-Za-z]{0,3}|[0-9]{0,2}[Xx]?)|[a-z][0-9]{2}\.[0-9Xx][0-9A-Za-z]{0,3})\b`)
	// In small letters without: f321. Ids have such groups between dashes.
	smallCodes = regexp.MustCompile(`\b[a-z][0-9]{3}\b`)
)

const code = `[a-z][ .-]?[0-9]{2}(?:\.[0-9x][0-9a-z]{0,3}|[0-9]{0,2}x?)`

// vitamin is what would be a code, had the classification one of that number.
const vitamin = "B12"

// hiddenCode stands for a code.
const hiddenCode = "***"

// hideDiagnoses hides codes of diagnoses. What looks like one and is none goes with them,
// but for a vitamin; a small letter with two digits is too often something else.
func hideDiagnoses(text string) string {
	text = hideMatches(text, namedCodes, func(string, byte, byte) bool { return true })
	text = hideMatches(text, plainCodes, func(found string, _, _ byte) bool { return found != vitamin })
	return hideMatches(text, smallCodes, func(_ string, before, after byte) bool { return before != '-' && after != '-' })
}

// hideMatches hides what the last group of a form matches, unless it is none by what it is
// and what stands beside it. An underscore is no part of a code's word.
func hideMatches(text string, form *regexp.Regexp, isCode func(found string, before, after byte) bool) string {
	var b strings.Builder
	done := 0
	for _, at := range form.FindAllStringSubmatchIndex(strings.ReplaceAll(text, "_", " "), -1) {
		start, end := at[len(at)-2], at[len(at)-1]
		var before, after byte
		if start > 0 {
			before = text[start-1]
		}
		if end < len(text) {
			after = text[end]
		}
		if !isCode(text[start:end], before, after) {
			continue
		}
		b.WriteString(text[done:start])
		b.WriteString(hiddenCode)
		done = end
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}
