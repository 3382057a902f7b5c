package care

import "integrationhub/hub/module/brazil"

// Digits are the ASCII digits of a text.
func Digits(s string) string { return brazil.Digits(s) }

// E164 writes a phone number in international form, as [brazil.FormatE164] does.
func E164(phone string) string { return brazil.FormatE164(phone) }

// PhoneKey is what a number is found by: see [brazil.PhoneKey]. The columns phone_key
// are made by the same rule.
func PhoneKey(e164 string) string { return brazil.PhoneKey(e164) }
