package brazil

import "strings"

// cpfLength is the number of digits of a CPF, the Brazilian tax id.
const cpfLength = 11

// ParseCPF gives the digits of a tax id, written with or without dots and dash; "" where
// there are not eleven, or other characters. valid tells whether the check digits fit:
// people mistype.
func ParseCPF(s string) (digits string, valid bool) {
	if strings.Trim(s, "0123456789.- ") != "" {
		return "", false
	}
	if digits = Digits(s); len(digits) != cpfLength {
		return "", false
	}
	return digits, checks((*[cpfLength]byte)([]byte(digits)))
}

// checks tells whether the check digits fit. Eleven times the same digit fits, and is
// nobody's.
func checks(digits *[cpfLength]byte) bool {
	same := true
	for _, d := range digits {
		same = same && d == digits[0]
	}
	if same {
		return false
	}
	for n := cpfLength - 2; n < cpfLength; n++ {
		sum := 0
		for i, d := range digits[:n] {
			sum += int(d-'0') * (n + 1 - i)
		}
		if sum*10%11%10 != int(digits[n]-'0') {
			return false
		}
	}
	return true
}

// FormatCPF writes 11 digits as 000.000.000-00, and leaves anything else as it is.
func FormatCPF(digits string) string {
	if len(digits) != cpfLength {
		return digits
	}
	return digits[:3] + "." + digits[3:6] + "." + digits[6:9] + "-" + digits[9:]
}

// cpfHidden stands for all of a tax id but its check digits.
const cpfHidden = "***.***.***-"

// MaskCPF shows the last two digits of a tax id only.
func MaskCPF(last2 string) string { return cpfHidden + last2 }
