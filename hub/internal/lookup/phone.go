// Package lookup tells what the hosted products know under a phone number, and which
// deliveries of late are about it.
package lookup

import (
	"strings"

	"github.com/nyaruka/phonenumbers"

	"integrationhub/hub"
	"integrationhub/hub/module/brazil"
)

// Phone is a phone number in the ways it may have been kept.
type Phone struct {
	// Forms are international, with a leading plus. The first is the usual one; a
	// Brazilian mobile has another, without its ninth digit: see package brazil.
	Forms []string
	// Words are what texts have where they have the number.
	Words []string
}

// home is the country of numbers that are given without one.
const (
	home     = "BR"
	homeCode = 55
)

// areaMin is the shortest number with an area, in digits.
const areaMin = 10

// textMax is the longest text that is read as a number, in bytes.
const textMax = 40

// Parse reads a number as people write it. Without a country code it is Brazilian and
// needs its area code. The error is a [hub.ErrInvalid].
func Parse(text string) (Phone, error) {
	refused := hub.Invalid("query.phone", "must be a phone number with its area code, such as +55 11 98765-4321")
	text = brazil.PhoneFromQuery(text)
	e164 := brazil.FormatE164(text)
	if len(text) > textMax || e164 == "" || !strings.HasPrefix(strings.TrimSpace(text), "+") && len(brazil.Digits(text)) < areaMin {
		return Phone{}, refused
	}
	number, err := phonenumbers.Parse(e164, home)
	if err != nil || phonenumbers.IsPossibleNumberWithReason(number) != phonenumbers.IS_POSSIBLE {
		return Phone{}, refused
	}
	if number.GetCountryCode() == homeCode {
		if len(e164) < len("+551133334444") || len(e164) > len("+5511987654321") {
			return Phone{}, refused // without its area it is everybody's
		}
		return brazilian(e164), nil
	}
	return Phone{
		Forms: []string{e164},
		Words: []string{
			phonenumbers.GetNationalSignificantNumber(number), // the international form ends with it
			phonenumbers.Format(number, phonenumbers.NATIONAL), phonenumbers.Format(number, phonenumbers.INTERNATIONAL),
		},
	}, nil
}

// brazilian is a number in international form with its other one.
func brazilian(e164 string) (p Phone) {
	p.Forms = brazil.PhoneVariants(e164)
	for _, form := range p.Forms {
		area, number := form[3:5], form[5:]
		front, back := number[:len(number)-4], number[len(number)-4:]
		p.Words = append(p.Words, area+number, "("+area+") "+front+"-"+back, area+" "+front+"-"+back)
	}
	return p
}
