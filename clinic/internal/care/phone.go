package care

import (
	"regexp"
	"strings"
)

// Digits are the ASCII digits of a text.
func Digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

const brazil = "55"

// E164 writes a phone number in international form, +5511987654321; "" where that is
// not possible. Numbers without a country, of 10 or 11 digits, are Brazilian. In a
// query a plus that nobody escaped arrives as a space: it counts as one.
func E164(phone string) string {
	if strings.Trim(phone, "0123456789 +-().\t") != "" {
		return "" // letters stand for digits elsewhere
	}
	digits := Digits(phone)
	if !strings.HasPrefix(phone, " ") && !strings.HasPrefix(phone, "+") {
		digits = strings.TrimLeft(digits, "0") // trunk prefix
		if len(digits) == 10 || len(digits) == 11 {
			digits = brazil + digits
		}
	}
	if len(digits) < 8 || len(digits) > 15 {
		return ""
	}
	return "+" + digits
}

var ninth = regexp.MustCompile(`^\+55([0-9]{2})9([016-9][0-9]{7})$`)

// PhoneKey is the same for a Brazilian mobile with and without its ninth digit, which
// people and telephone exchanges leave out; for others it is the number itself. The
// column phone_key is made by the same rule. Mobiles whose number goes on with 2 to 5
// were never without the nine: what is left of them is somebody's landline.
func PhoneKey(e164 string) string { return ninth.ReplaceAllString(e164, "+55$1$2") }
