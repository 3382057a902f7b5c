package care

import "integrationhub/hub/module/brazil"

// ParseCPF returns the 11 digits of a CPF that is written with or without dots and dash; ""
// if it is not one or its check digits are wrong.
func ParseCPF(s string) string {
	if digits, valid := brazil.ParseCPF(s); valid {
		return digits
	}
	return ""
}

// FormatCPF formats 11 digits as 000.000.000-00.
func FormatCPF(digits string) string { return brazil.FormatCPF(digits) }

// MaskCPF returns a CPF of which only the last two digits are visible.
func MaskCPF(last2 string) string { return brazil.MaskCPF(last2) }

// RedactCPFs replaces the CPFs in a text, as [brazil.RedactCPFs] does. All stored texts pass
// through it: CPFs are stored encrypted only.
func RedactCPFs(text string) string {
	redacted, _ := brazil.RedactCPFs(text)
	return redacted
}
