// Package lookup finds what the hosted products have under a phone number, an e-mail address
// or the end of a CPF, and recent deliveries about it.
package lookup

import (
	"strings"

	"github.com/nyaruka/phonenumbers"

	"integrationhub/hub"
	"integrationhub/hub/module/brazil"
)

// Phone is a phone number in the forms it may be stored in.
type Phone struct {
	// Forms are international, with a leading plus. The first is the usual one. A Brazilian
	// mobile has a second one, without its ninth digit: see package brazil.
	Forms []string
	// Spellings are how texts write the number.
	Spellings []string
}

// The country of numbers without a country code.
const (
	defaultRegion      = "BR"
	defaultCountryCode = 55
)

// minDigits is the length of the shortest number with an area code.
const minDigits = 10

// maxTextLength bounds the texts that are parsed as numbers, in bytes.
const maxTextLength = 40

// PhoneRule is the message for a text that is no phone number.
const PhoneRule = "must be a phone number with its area code, such as +55 11 98765-4321"

// Parse parses a number as people write it. Without a country code it is Brazilian and
// needs an area code. The error is a [hub.ErrInvalid].
func Parse(text string) (Phone, error) {
	errInvalid := hub.Invalid("query.phone", PhoneRule)
	text = brazil.PhoneFromQuery(text)
	e164 := brazil.FormatE164(text)
	if len(text) > maxTextLength || e164 == "" || !strings.HasPrefix(strings.TrimSpace(text), "+") && len(brazil.Digits(text)) < minDigits {
		return Phone{}, errInvalid
	}
	number, err := phonenumbers.Parse(e164, defaultRegion)
	if err != nil || phonenumbers.IsPossibleNumberWithReason(number) != phonenumbers.IS_POSSIBLE {
		return Phone{}, errInvalid
	}
	if number.GetCountryCode() == defaultCountryCode {
		if len(e164) < len("+551133334444") || len(e164) > len("+5511987654321") {
			return Phone{}, errInvalid // without its area code it is ambiguous
		}
		return brazilianPhone(e164), nil
	}
	return Phone{
		Forms: []string{e164},
		Spellings: []string{
			phonenumbers.GetNationalSignificantNumber(number), // the end of the international form
			phonenumbers.Format(number, phonenumbers.NATIONAL), phonenumbers.Format(number, phonenumbers.INTERNATIONAL),
		},
	}, nil
}

// brazilianPhone returns the forms of a Brazilian number.
func brazilianPhone(e164 string) (p Phone) {
	p.Forms = brazil.PhoneVariants(e164)
	for _, form := range p.Forms {
		area, number := form[3:5], form[5:]
		prefix, line := number[:len(number)-4], number[len(number)-4:]
		p.Spellings = append(p.Spellings, area+number, "("+area+") "+prefix+"-"+line, area+" "+prefix+"-"+line)
	}
	return p
}
