package chat

import (
	"regexp"
	"strconv"
	"strings"

	"integrationhub/hub/module/brazil"
)

const brazilCode = "55"

var numberPattern = regexp.MustCompile(`^[1-9][0-9]{7,14}$`)

// IsNumber reports whether a text is a phone number as the platform writes it: 8 to 15
// digits with the country code, and nothing else. A Brazilian number has its area code, and 8 or 9
// digits behind it.
func IsNumber(text string) bool {
	national, isBrazilian := strings.CutPrefix(text, brazilCode)
	if isBrazilian && len(national) != 10 && len(national) != 11 {
		return false
	}
	return numberPattern.MatchString(text) && !brazil.LacksAreaCode("+"+text)
}

// NumberKey returns the key by which numbers are compared: a Brazilian mobile number with
// its ninth digit, whether or not the number has it. Other numbers are their own key.
func NumberKey(number string) string {
	return NumberVariants(number)[0]
}

// NumberVariants returns the numbers that mean the same phone: a Brazilian mobile number
// with its ninth digit, then without it. Other numbers have one.
func NumberVariants(number string) []string {
	variants := brazil.PhoneVariants("+" + number)
	for i, variant := range variants {
		variants[i] = strings.TrimPrefix(variant, "+")
	}
	return variants
}

// SearchKey returns the [NumberKey] of a search that is a whole number, as people write it; "" = it is
// something else. A number of 10 or 11 digits may be a Brazilian one without its country code.
func SearchKey(search string) string {
	number := strings.TrimPrefix(brazil.FormatE164(brazil.PhoneFromQuery(search)), "+")
	if !IsNumber(number) {
		return ""
	}
	return NumberKey(number)
}

// FormatE164 returns a number with a leading plus, as other products write it. Contacts without a
// number have none there either.
func FormatE164(number string) string {
	if number == "" {
		return ""
	}
	return "+" + number
}

// FormatID returns an id as text, as other products and the audit log have it.
func FormatID(id int64) string { return strconv.FormatInt(id, 10) }
