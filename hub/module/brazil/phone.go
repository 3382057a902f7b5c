// Package brazil knows the numbers by which people in Brazil are known: phones, which
// are written with and without country code and ninth digit, and tax ids (CPF).
package brazil

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

const country = "55"

// Where a number is printed for all carriers, two letters stand for the carrier's digits.
var anyCarrier = regexp.MustCompile(`(^|[^0-9])0[xX]{2}`)

// FormatE164 writes a phone number in international form, +5511987654321; "" where that is
// not possible. Numbers without a country, of 10 or 11 digits, are Brazilian. What is
// dialled before a number is left out: 00 before the country, and 0, or 0 and a carrier,
// before the area.
func FormatE164(phone string) string {
	if phone = strings.TrimSpace(phone); strings.ContainsAny(phone, "xX") {
		phone = anyCarrier.ReplaceAllString(phone, "${1}0")
	}
	if strings.Trim(phone, "0123456789 +-()./\t\u00a0") != "" {
		return "" // letters stand for digits elsewhere, or begin an extension
	}
	digits, international := Digits(phone), strings.HasPrefix(phone, "+")
	if !international {
		digits, international = strings.CutPrefix(digits, "00")
	}
	if international && !strings.HasPrefix(digits, country) && strings.Contains(phone, "(0)") { // +44 (0)20: dialled only there
		digits = strings.TrimPrefix(Digits(strings.Replace(phone, "(0)", "", 1)), "00")
	}
	if rest, found := strings.CutPrefix(digits, country+"0"); found && (international || len(digits) > 11) {
		digits = country + withoutTrunk("0"+rest)
	} else if !international {
		if digits = withoutTrunk(digits); len(digits) == 10 || len(digits) == 11 {
			digits = country + digits
		}
	}
	if len(digits) < 8 || len(digits) > 15 || digits[0] == '0' { // no country begins with 0
		return ""
	}
	return "+" + digits
}

// withoutTrunk leaves out the 0 that is dialled before an area in Brazil, and the two
// digits of a carrier behind it.
func withoutTrunk(digits string) string {
	rest, found := strings.CutPrefix(digits, "0")
	if !found {
		return digits
	}
	if rest = strings.TrimLeft(rest, "0"); len(rest) == 12 || len(rest) == 13 {
		return withoutTrunk(rest[2:])
	}
	return rest
}

// PhoneFromQuery is a number as a query has it: a plus that nobody escaped arrives as a space.
func PhoneFromQuery(query string) string {
	if rest, found := strings.CutPrefix(query, " "); found {
		return "+" + rest
	}
	return query
}

// Mobiles were given a ninth digit, a 9 at the front, between 2012 and 2016; people and
// telephone exchanges leave it out. What is left never begins with 2 to 5: those are
// landlines, and somebody else's.
var (
	long  = regexp.MustCompile(`^\+55([0-9]{2})9([016-9][0-9]{7})$`)
	short = regexp.MustCompile(`^\+55([0-9]{2})([016-9][0-9]{7})$`)
)

// PhoneKey is the same for a Brazilian mobile in international form with and without
// its ninth digit; for other numbers it is the number itself.
func PhoneKey(e164 string) string { return long.ReplaceAllString(e164, "+55$1$2") }

// PhoneVariants are the international forms under which a number in such a form may have
// been kept: with and without the ninth digit where it has one. The usual one is first.
func PhoneVariants(e164 string) []string {
	switch {
	case long.MatchString(e164):
		return []string{e164, PhoneKey(e164)}
	case short.MatchString(e164):
		return []string{short.ReplaceAllString(e164, "+55${1}9$2"), e164}
	}
	return []string{e164}
}
