package booking

import (
	"slices"

	"integrationhub/hub/module/brazil"
)

// Digits returns the ASCII digits of a text.
func Digits(text string) string { return brazil.Digits(text) }

// E164 returns a phone number in international form, as [brazil.FormatE164] does, or
// nil where that is not possible.
func E164(phone string) *string {
	if number := brazil.FormatE164(phone); number != "" {
		return &number
	}
	return nil
}

// CompletePhone returns a number as it is stored: as it was written, or, if it lacks its
// area code, in international form with the default one. ok is false if the text is no
// number, or lacks an area code that there is no default for.
func CompletePhone(phone, areaCode string) (completed string, ok bool) {
	completed = brazil.AddAreaCode(phone, areaCode)
	return completed, isValidPhone(completed)
}

// PhoneProblem returns what is wrong with a number that [CompletePhone] refuses.
func PhoneProblem(phone string) string {
	if brazil.LacksAreaCode(phone) {
		return brazil.MessageNoAreaCode
	}
	return brazil.MessageInvalidPhone
}

// PhoneForms returns the international forms under which a number may be stored: those
// of [brazil.PhoneVariants], and its digits unchanged, for foreign numbers without a
// plus.
func PhoneForms(phone string) []string {
	var forms []string
	if number := brazil.FormatE164(phone); number != "" {
		forms = brazil.PhoneVariants(number)
	}
	if digits := Digits(phone); len(digits) >= 8 && len(digits) <= 15 {
		for _, form := range brazil.PhoneVariants("+" + digits) {
			if !slices.Contains(forms, form) {
				forms = append(forms, form)
			}
		}
	}
	return forms
}

// CanonicalPhone returns one text for all ways to write a number: with or without the
// country, punctuation and the ninth digit.
func CanonicalPhone(phone string) string {
	if number := brazil.FormatE164(phone); number != "" {
		return brazil.PhoneKey(number)
	}
	return Digits(phone)
}

// CPFDigits reads a Brazilian tax id: 11 digits with or without dots and dash. valid
// reports whether its check digits fit. Callers warn instead of refusing: people mistype.
func CPFDigits(text string) (digits string, valid, ok bool) {
	digits, valid = brazil.ParseCPF(text)
	return digits, valid, digits != ""
}

// FormatCPF writes 11 digits as 000.000.000-00.
func FormatCPF(digits string) string { return brazil.FormatCPF(digits) }
