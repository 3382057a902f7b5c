package brazil

import "strings"

// cpfLength is the number of digits of a CPF, the Brazilian tax id.
const cpfLength = 11

// CPF gives the digits of a tax id, written with or without dots and dash; "" where
// there are not eleven, or other characters. valid tells whether the check digits fit:
// people mistype.
func CPF(s string) (digits string, valid bool) {
	if strings.Trim(s, "0123456789.- ") != "" {
		return "", false
	}
	if digits = Digits(s); len(digits) != cpfLength {
		return "", false
	}
	valid = strings.Count(digits, digits[:1]) != cpfLength // the same digit throughout fits, and is nobody's
	for _, n := range []int{9, 10} {
		sum := 0
		for i := range n {
			sum += int(digits[i]-'0') * (n + 1 - i)
		}
		valid = valid && sum*10%11%10 == int(digits[n]-'0')
	}
	return digits, valid
}

// FormatCPF writes 11 digits as 000.000.000-00, and leaves anything else as it is.
func FormatCPF(digits string) string {
	if len(digits) != cpfLength {
		return digits
	}
	return digits[:3] + "." + digits[3:6] + "." + digits[6:9] + "-" + digits[9:]
}

// MaskCPF shows the last two digits of a tax id only.
func MaskCPF(last2 string) string { return "***.***.***-" + last2 }
