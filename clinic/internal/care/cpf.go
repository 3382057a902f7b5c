package care

import "strings"

// cpfLength is the number of digits of a CPF, the Brazilian tax id.
const cpfLength = 11

// CPF gives the digits of a tax id, written with or without dots and dash; "" where
// it is none: another length, wrong check digits, the same digit throughout.
func CPF(s string) string {
	if strings.Trim(s, "0123456789.- ") != "" {
		return ""
	}
	digits := Digits(s)
	if len(digits) != cpfLength || strings.Count(digits, digits[:1]) == cpfLength {
		return ""
	}
	for _, n := range []int{9, 10} {
		sum := 0
		for i := range n {
			sum += int(digits[i]-'0') * (n + 1 - i)
		}
		if sum*10%11%10 != int(digits[n]-'0') {
			return ""
		}
	}
	return digits
}

// FormatCPF writes 11 digits as 000.000.000-00.
func FormatCPF(digits string) string {
	return digits[:3] + "." + digits[3:6] + "." + digits[6:9] + "-" + digits[9:]
}

// MaskCPF shows the last two digits of a tax id only.
func MaskCPF(last2 string) string { return "***.***.***-" + last2 }
