// Package brazil normalizes Brazilian phone numbers, which are written with and without
// country code and ninth digit, and validates and redacts tax ids (CPF).
package brazil

import (
	"regexp"
	"strings"
)

// Digits returns the ASCII digits of a text.
func Digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

const countryCode = "55"

// anyCarrier matches a trunk prefix with "xx" for the digits of any carrier.
var anyCarrier = regexp.MustCompile(`(^|[^0-9])0[xX]{2}`)

// FormatE164 returns a phone number in international format, such as +5511987654321, or ""
// if it is not a phone number. Numbers of 10 or 11 digits without a country code are
// Brazilian. Dialling prefixes are removed: 00 before the country code, and 0, or 0 and
// two digits of a carrier, before the area code.
func FormatE164(phone string) string {
	if phone = strings.TrimSpace(phone); strings.ContainsAny(phone, "xX") {
		phone = anyCarrier.ReplaceAllString(phone, "${1}0")
	}
	if strings.Trim(phone, "0123456789 +-()./\t\u00a0") != "" {
		return "" // such as letters for digits, or an extension
	}
	digits, international := Digits(phone), strings.HasPrefix(phone, "+")
	if !international {
		digits, international = strings.CutPrefix(digits, "00")
	}
	if international && !strings.HasPrefix(digits, countryCode) && strings.Contains(phone, "(0)") { // +44 (0)20: the 0 is for calls within the country
		digits = strings.TrimPrefix(Digits(strings.Replace(phone, "(0)", "", 1)), "00")
	}
	if rest, found := strings.CutPrefix(digits, countryCode+"0"); found && (international || len(digits) > 11) {
		digits = countryCode + trimTrunkPrefix("0"+rest)
	} else if !international {
		if digits = trimTrunkPrefix(digits); len(digits) == 10 || len(digits) == 11 {
			digits = countryCode + digits
		}
	}
	if len(digits) < 8 || len(digits) > 15 || digits[0] == '0' { // no country code begins with 0
		return ""
	}
	return "+" + digits
}

// trimTrunkPrefix removes Brazil's trunk prefix 0 and the two digits of a carrier after it.
func trimTrunkPrefix(digits string) string {
	rest, found := strings.CutPrefix(digits, "0")
	if !found {
		return digits
	}
	if rest = strings.TrimLeft(rest, "0"); len(rest) == 12 || len(rest) == 13 {
		return trimTrunkPrefix(rest[2:])
	}
	return rest
}

// PhoneFromQuery restores the leading plus of a number in a query string, where an
// unescaped plus means a space.
func PhoneFromQuery(query string) string {
	if rest, found := strings.CutPrefix(query, " "); found {
		return "+" + rest
	}
	return query
}

// Mobile numbers got a leading ninth digit, 9, between 2012 and 2016, and it is often
// omitted. Without it a mobile number never begins with 2 to 5: those are landlines.
var (
	mobileWithNinth    = regexp.MustCompile(`^\+55([0-9]{2})9([016-9][0-9]{7})$`)
	mobileWithoutNinth = regexp.MustCompile(`^\+55([0-9]{2})([016-9][0-9]{7})$`)
)

// PhoneKey returns a key for comparing numbers in international format. It is equal for a
// Brazilian mobile number with and without its ninth digit. For other numbers it is the
// number.
func PhoneKey(e164 string) string { return mobileWithNinth.ReplaceAllString(e164, "+55$1$2") }

// PhoneVariants returns the international formats under which a number may be stored: a
// Brazilian mobile number with its ninth digit, then without it. Other numbers have one.
func PhoneVariants(e164 string) []string {
	switch {
	case mobileWithNinth.MatchString(e164):
		return []string{e164, PhoneKey(e164)}
	case mobileWithoutNinth.MatchString(e164):
		return []string{mobileWithoutNinth.ReplaceAllString(e164, "+55${1}9$2"), e164}
	}
	return []string{e164}
}
