package importfile

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"integrationhub/hub/module/brazil"
	"integrationhub/hub/module/names"
	"integrationhub/hub/module/table"
)

// Statuses of patients.
const (
	active   = "active"
	inactive = "inactive"
)

// setIfEmpty sets a field that has no value yet.
func setIfEmpty(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// cleanText returns a text on one line: white space becomes single spaces, and format characters
// that nobody sees are removed. ok is false if the text is not UTF-8 or has control characters.
func cleanText(s string) (text string, ok bool) {
	if !utf8.ValidString(s) {
		return "", false
	}
	for _, r := range s {
		if unicode.IsControl(r) && !unicode.IsSpace(r) || r == unicode.ReplacementChar {
			return "", false
		}
	}
	// In spreadsheets an apostrophe marks what would be a formula or a number as text. Before one
	// of the text itself, exports put another.
	if text, isQuoted := strings.CutPrefix(s, "'"); isQuoted && strings.ContainsAny(firstCharacter(strings.TrimLeft(text, "'")), "=+-@\t0123456789＝＋－＠") {
		s = text
	}
	return CleanName(s), true
}

// firstCharacter returns the first character of a text, "" if it is empty.
func firstCharacter(text string) string {
	_, size := utf8.DecodeRuneInString(text)
	return text[:size]
}

// CleanName returns a name as imports store it: with single spaces, and without format characters
// that nobody sees.
func CleanName(text string) string {
	return strings.Join(strings.Fields(names.RemoveInvisible(text)), " ")
}

// IsNoName reports whether a name stands for no name, such as "N/A" or "-": imports leave it out.
func IsNoName(text string) bool { return isPlaceholder(name, text) }

// padCPF restores the leading zeros that spreadsheets remove from a CPF.
func padCPF(digits string) string {
	const length, minLength = 11, 8
	if len(digits) < minLength || len(digits) >= length || strings.Trim(digits, "0123456789") != "" {
		return digits
	}
	return strings.Repeat("0", length-len(digits)) + digits
}

// trimDecimal removes the ".0" that spreadsheets write behind whole numbers.
func trimDecimal(text string) string {
	digits, found := strings.CutSuffix(text, ".0")
	if !found {
		digits, found = strings.CutSuffix(text, ",0")
	}
	if !found || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return text
	}
	return digits
}

// placeholders are texts that stand for nothing, in lower case without accents.
var placeholders = []string{
	"n/a", "n.a.", "#n/a", "n/d", "n.d.", "#n/d", "n/i", "n.i.", "nao informado", "nao informada", "nao consta", "nao possui", "nao tem", "nao disponivel",
	"sem informacao", "sem cpf", "sem telefone", "sem celular", "sem email", "sem e-mail", "nenhum", "null", "none", "not informed", "unknown", "desconhecido",
}

// isPlaceholder reports whether a text stands for nothing: it has neither letters nor digits,
// is one of [placeholders], or is a CPF, phone number or date of zeros.
func isPlaceholder(kind column, text string) bool {
	isLetterOrDigit := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	if !strings.ContainsFunc(text, isLetterOrDigit) || slices.Contains(placeholders, table.Fold(text)) {
		return true
	}
	if strings.ContainsFunc(text, unicode.IsLetter) {
		return false
	}
	digits := brazil.Digits(text)
	switch kind {
	case cpf, birthDate:
		return strings.Trim(digits, "0") == ""
	case mobile, phone, landline: // also behind an area code
		return strings.Trim(digits, "0") == "" || strings.HasSuffix(digits, "00000000")
	}
	return false
}

// hasSuffixWords reports whether a name ends with a family name, whatever case and accents
// they are written with.
func hasSuffixWords(fullName, family string) bool {
	fold := func(text string) string { return " " + table.Fold(text) }
	return family == "" || strings.HasSuffix(fold(fullName), fold(family))
}
