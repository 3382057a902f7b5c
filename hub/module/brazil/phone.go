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
// if it is not a phone number or lacks its area code. Numbers of 10 or 11 digits without a
// country code are Brazilian. Dialling prefixes are removed: 00 before the country code,
// and 0, or 0 and two digits of a carrier, before the area code.
func FormatE164(phone string) string { return FormatE164In(phone, "") }

// FormatE164In is [FormatE164] with a default area code for numbers that lack theirs. An
// empty areaCode is none.
func FormatE164In(phone, areaCode string) string {
	digits, local := parsePhone(phone)
	if local {
		isMobile := len(digits) == 9 && digits[0] == '9'
		if areaCode == "" || !isMobile && (len(digits) != 8 || digits[0] < '2') {
			return ""
		}
		digits = countryCode + areaCode + digits
	}
	if len(digits) < 8 || len(digits) > 15 || digits[0] == '0' { // no country code begins with 0
		return ""
	}
	return "+" + digits
}

// LacksAreaCode reports whether a text is a Brazilian number without its area code: 8 or 9
// digits, without a country code or behind Brazil's.
func LacksAreaCode(phone string) bool {
	_, local := parsePhone(phone)
	return local
}

// AddAreaCode returns a number that lacks its area code in international format, with a
// default one. Other texts are returned unchanged, and all of them if areaCode is empty.
func AddAreaCode(phone, areaCode string) string {
	if number := FormatE164In(phone, areaCode); number != "" && LacksAreaCode(phone) {
		return number
	}
	return phone
}

// What is wrong with a phone number, for people.
const (
	MessageInvalidPhone = "must be a phone number of 8 to 15 digits"
	MessageNoAreaCode   = "must have its area code, such as (11) 98765-4321, unless a default_area_code is set"
)

// maxNationalDigits is the most that a Brazilian number has behind its country code.
const maxNationalDigits = 11

// PhoneProblem returns what is wrong with a phone number, "" if [FormatE164In] reads it and it
// can exist: a Brazilian one with more than 11 digits behind its country code, such as one with
// the code twice, cannot.
func PhoneProblem(phone, areaCode string) string {
	number := FormatE164In(phone, areaCode)
	national, isBrazilian := strings.CutPrefix(number, "+"+countryCode)
	switch {
	case isBrazilian && len(national) > maxNationalDigits:
		return MessageInvalidPhone
	case number != "":
		return ""
	case areaCode == "" && LacksAreaCode(phone):
		return MessageNoAreaCode
	}
	return MessageInvalidPhone
}

// areaCodes are the area codes in use.
const areaCodes = " 11 12 13 14 15 16 17 18 19 21 22 24 27 28 31 32 33 34 35 37 38 41 42 43 44 45 46 47 48 49 51 53 54 55" +
	" 61 62 63 64 65 66 67 68 69 71 73 74 75 77 79 81 82 83 84 85 86 87 88 89 91 92 93 94 95 96 97 98 99 "

// IsAreaCode reports whether a text is an area code of Brazil, such as 11.
func IsAreaCode(code string) bool {
	return len(code) == 2 && strings.Contains(areaCodes, " "+code+" ")
}

// parsePhone returns the digits of a number with its country code. local reports whether
// the number lacks its area code; its digits have no country code then. digits is "" if
// the text is not a phone number.
func parsePhone(phone string) (digits string, local bool) {
	if phone = strings.TrimSpace(phone); strings.ContainsAny(phone, "xX") {
		phone = anyCarrier.ReplaceAllString(phone, "${1}0")
	}
	if strings.Trim(phone, "0123456789 +-()./\t\u00a0") != "" {
		return "", false // such as letters for digits, or an extension
	}
	digits, international := Digits(phone), strings.HasPrefix(phone, "+")
	if !international {
		digits, international = strings.CutPrefix(digits, "00")
	}
	if international && !strings.HasPrefix(digits, countryCode) && strings.Contains(phone, "(0)") { // +44 (0)20: the 0 is for calls within the country
		digits = strings.TrimPrefix(Digits(strings.Replace(phone, "(0)", "", 1)), "00")
	}
	national, isBrazilian := strings.CutPrefix(digits, countryCode)
	switch {
	case isBrazilian && strings.HasPrefix(national, "0") && (international || len(digits) > 11):
		national = trimTrunkPrefix(national)
	case international && isBrazilian:
	case international:
		return digits, false
	default:
		national = trimTrunkPrefix(digits)
		isBrazilian = isLocal(national) || len(national) == 10 || len(national) == 11
		digits = national
	}
	switch {
	case isBrazilian && isLocal(national):
		return national, true
	case isBrazilian:
		return countryCode + national, false
	}
	return digits, false
}

// isLocal reports whether digits behind no or Brazil's country code are too few for an area
// code and a number.
func isLocal(national string) bool { return len(national) == 8 || len(national) == 9 }

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

// fillerDigits is how many equal digits at its end make a number a filler: all that follow the
// area code, but for a mobile's ninth digit.
const fillerDigits = 8

// IsFillerPhone reports whether a number in international format, or its [PhoneKey], is one that
// forms are filled with where there is none, such as +5511999999999. It identifies nobody.
// Sequences such as 98765-4321 are numbers of people, too.
func IsFillerPhone(e164 string) bool {
	if len(e164) <= fillerDigits {
		return false
	}
	end := e164[len(e164)-fillerDigits:]
	return strings.Count(end, end[:1]) == fillerDigits
}
