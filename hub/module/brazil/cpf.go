package brazil

import "strings"

// cpfLength is the number of digits of a CPF, the Brazilian tax id.
const cpfLength = 11

// ParseCPF returns the digits of a tax id, written with or without dots and dash, or "" if
// it is not eleven digits. valid reports whether the check digits match.
func ParseCPF(s string) (digits string, valid bool) {
	if strings.Trim(s, "0123456789.- ") != "" {
		return "", false
	}
	if digits = Digits(s); len(digits) != cpfLength {
		return "", false
	}
	return digits, hasValidCheckDigits((*[cpfLength]byte)([]byte(digits)))
}

// hasValidCheckDigits reports whether the check digits match. Eleven equal digits match,
// but are never issued, so they are invalid.
func hasValidCheckDigits(digits *[cpfLength]byte) bool {
	allEqual := true
	for _, digit := range digits {
		allEqual = allEqual && digit == digits[0]
	}
	if allEqual {
		return false
	}
	for n := cpfLength - 2; n < cpfLength; n++ {
		sum := 0
		for i, digit := range digits[:n] {
			sum += int(digit-'0') * (n + 1 - i)
		}
		if sum*10%11%10 != int(digits[n]-'0') {
			return false
		}
	}
	return true
}

// FormatCPF formats 11 digits as 000.000.000-00 and returns any other text unchanged.
func FormatCPF(digits string) string {
	if len(digits) != cpfLength {
		return digits
	}
	return digits[:3] + "." + digits[3:6] + "." + digits[6:9] + "-" + digits[9:]
}

// cpfMask replaces all of a tax id except its check digits.
const cpfMask = "***.***.***-"

// MaskCPF returns a masked tax id that shows only its last two digits.
func MaskCPF(lastTwo string) string { return cpfMask + lastTwo }
