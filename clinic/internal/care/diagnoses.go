package care

import (
	"regexp"
	"strings"
)

// Patterns of diagnosis codes by ICD-10 (CID-10 in Brazil).
var (
	// One or several behind their label, in any notation: CID f32, CID-10: F 32.1.
	labelledCodes = regexp.MustCompile(`(?i)\b(?:cid|icd)(?:[- ]?1[01])?[^0-9a-z]{0,3}(` + codePattern + `(?:\s*(?:[,;/+]|\b(?:e|and|y)\b)\s*` + codePattern + `)*)\b`)
	// In upper case, or with their point: F32, F321, F32.1, f32.1, F32.1X.
	upperCaseCodes = regexp.MustCompile(`\b(?:[A-Z][0-9]{2}(?:\.[0-9Xx][0-9A-Za-z]{0,3}|[0-9]{0,2}[Xx]?)|[a-z][0-9]{2}\.[0-9Xx][0-9A-Za-z]{0,3})\b`)
	// In lower case without a point: f321. UUIDs have such groups between dashes.
	lowerCaseCodes = regexp.MustCompile(`\b[a-z][0-9]{3}\b`)
)

const codePattern = `[a-z][ .-]?[0-9]{2}(?:\.[0-9x][0-9a-z]{0,3}|[0-9]{0,2}x?)`

// vitaminB12 looks like a code; ICD-10 has none with this number.
const vitaminB12 = "B12"

// redactedCode replaces a code.
const redactedCode = "***"

// redactDiagnoses replaces diagnosis codes, and also other words that look like one, except
// for a vitamin. A lower-case letter with two digits is too often something else.
func redactDiagnoses(text string) string {
	text = redactMatches(text, labelledCodes, func(string, byte, byte) bool { return true })
	text = redactMatches(text, upperCaseCodes, func(match string, _, _ byte) bool { return match != vitaminB12 })
	return redactMatches(text, lowerCaseCodes, func(_ string, before, after byte) bool { return before != '-' && after != '-' })
}

// redactMatches replaces what the last group of a pattern matches, if isCode confirms it by
// the match and the bytes beside it (0 at the ends). An underscore separates words.
func redactMatches(text string, pattern *regexp.Regexp, isCode func(match string, before, after byte) bool) string {
	var b strings.Builder
	done := 0
	for _, indices := range pattern.FindAllStringSubmatchIndex(strings.ReplaceAll(text, "_", " "), -1) {
		start, end := indices[len(indices)-2], indices[len(indices)-1]
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
		b.WriteString(redactedCode)
		done = end
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}
