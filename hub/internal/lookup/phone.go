// Package lookup tells what the hosted products know under a phone number, and which
// deliveries of late are about it.
package lookup

import (
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"

	"integrationhub/hub"
)

// Phone is a phone number in the ways it may have been kept.
type Phone struct {
	// Forms are international, with a leading plus. The first is the usual one; a
	// Brazilian mobile has another: they were given a ninth digit in 2016, and older
	// records are without it.
	Forms []string
	// Words are what texts have where they have the number.
	Words []string
}

// home is the country of numbers that are given without one.
const home = "BR"

// textMax is the longest text that is read as a number, in bytes.
const textMax = 40

// Parse reads a number as people write it. Without a country code it is Brazilian and
// needs its area code. The error is a [hub.ErrInvalid].
func Parse(text string) (Phone, error) {
	refused := hub.Invalid("query.phone", "must be a phone number with its area code, such as +55 11 98765-4321")
	if len(text) > textMax || strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("+0123456789 ()-.", r) }) {
		return Phone{}, refused // letters too: they stand for digits elsewhere
	}
	if strings.HasPrefix(text, " ") { // what becomes of a plus in a query that is not escaped
		text = "+" + text[1:]
	}
	number, err := phonenumbers.Parse(text, home)
	if err != nil || phonenumbers.IsPossibleNumberWithReason(number) != phonenumbers.IS_POSSIBLE {
		return Phone{}, refused
	}
	if number.GetCountryCode() == brazil {
		if p := brazilian(number.GetNationalNumber()); p.Forms != nil {
			return p, nil
		}
		return Phone{}, refused // without its area it is everybody's
	}
	return Phone{
		Forms: []string{phonenumbers.Format(number, phonenumbers.E164)},
		Words: []string{
			phonenumbers.GetNationalSignificantNumber(number), // the international form ends with it
			phonenumbers.Format(number, phonenumbers.NATIONAL), phonenumbers.Format(number, phonenumbers.INTERNATIONAL),
		},
	}, nil
}

// brazil is the country code.
const brazil = 55

// brazilian gives the forms of a number of ten or eleven digits, two of which are its
// area's; none of others. Eight digits after the area are a mobile from 6 on, and a
// landline before, which has no other form; a ninth digit is a 9 at the front.
func brazilian(national uint64) (p Phone) {
	digits := strconv.FormatUint(national, 10)
	if len(digits) != 10 && len(digits) != 11 {
		return p
	}
	area, rest := digits[:2], digits[2:]
	forms := []string{rest}
	switch mobile := rest[len(rest)-8] >= '6'; {
	case mobile && len(rest) == 8:
		forms = []string{"9" + rest, rest}
	case mobile && rest[0] == '9':
		forms = []string{rest, rest[1:]}
	}
	for _, form := range forms {
		front, back := form[:len(form)-4], form[len(form)-4:]
		p.Forms = append(p.Forms, "+55"+area+form)
		p.Words = append(p.Words, area+form, "("+area+") "+front+"-"+back, area+" "+front+"-"+back)
	}
	return p
}
