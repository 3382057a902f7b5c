package care

import "integrationhub/hub/module/brazil"

// CPF gives the digits of a tax id, written with or without dots and dash; "" where it
// is none, or its check digits do not fit.
func CPF(s string) string {
	if digits, valid := brazil.ParseCPF(s); valid {
		return digits
	}
	return ""
}

// FormatCPF writes 11 digits as 000.000.000-00.
func FormatCPF(digits string) string { return brazil.FormatCPF(digits) }

// MaskCPF shows the last two digits of a tax id only.
func MaskCPF(last2 string) string { return brazil.MaskCPF(last2) }
