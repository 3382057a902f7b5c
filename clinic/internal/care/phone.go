package care

import "integrationhub/hub/module/brazil"

// Digits returns the ASCII digits of a text.
func Digits(s string) string { return brazil.Digits(s) }

// FormatE164 returns a phone number in international format; see [brazil.FormatE164].
func FormatE164(phone string) string { return brazil.FormatE164(phone) }

// FormatE164In is [FormatE164] with a default area code; see [brazil.FormatE164In].
func FormatE164In(phone, areaCode string) string { return brazil.FormatE164In(phone, areaCode) }

// PhoneKey returns the key by which a number is found; see [brazil.PhoneKey]. The database
// computes the columns phone_key by the same rule.
func PhoneKey(e164 string) string { return brazil.PhoneKey(e164) }

// IsFillerPhone reports whether a number or its key identifies nobody; see [brazil.IsFillerPhone].
func IsFillerPhone(e164 string) bool { return brazil.IsFillerPhone(e164) }
