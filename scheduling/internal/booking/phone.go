package booking

import (
	"slices"
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

const brazil = "55"

// E164 writes a phone number in international form, +5511987654321; nil where that
// is not possible. Numbers without a country, of 10 or 11 digits, are Brazilian.
func E164(phone string) *string {
	digits := Digits(phone)
	international := strings.HasPrefix(strings.TrimSpace(phone), "+")
	if !international {
		digits = strings.TrimLeft(digits, "0") // trunk prefix
		if len(digits) == 10 || len(digits) == 11 {
			digits = brazil + digits
		}
	}
	if len(digits) < 8 || len(digits) > 15 {
		return nil
	}
	digits = "+" + digits
	return &digits
}

// PhoneForms are the international forms under which a number may have been
// stored: with and without the country, and for Brazilian mobiles with and without
// the ninth digit, which people and telephone exchanges leave out.
func PhoneForms(phone string) []string {
	var forms []string
	add := func(digits string) {
		if form := "+" + digits; len(digits) >= 8 && len(digits) <= 15 && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	if written := E164(phone); written != nil {
		add((*written)[1:])
	}
	add(Digits(phone))
	for _, form := range slices.Clone(forms) {
		digits := form[1:]
		if !strings.HasPrefix(digits, brazil) {
			continue
		}
		switch number := digits[2:]; {
		case len(number) == 11 && number[2] == '9' && number[3] >= '6': // else it would be a landline's
			add(brazil + number[:2] + number[3:])
		case len(number) == 10 && number[2] >= '6':
			add(brazil + number[:2] + "9" + number[2:])
		}
	}
	return forms
}

// CPFDigits reads a Brazilian tax id: 11 digits with or without dots and dash. valid
// tells whether its check digits fit: people mistype, so that is no reason to refuse.
func CPFDigits(s string) (digits string, valid, ok bool) {
	for _, r := range s {
		if (r < '0' || r > '9') && r != '.' && r != '-' && r != ' ' {
			return "", false, false
		}
	}
	if digits = Digits(s); len(digits) != 11 {
		return "", false, false
	}
	valid = strings.Count(digits, digits[:1]) != 11
	for _, n := range []int{9, 10} {
		sum := 0
		for i := range n {
			sum += int(digits[i]-'0') * (n + 1 - i)
		}
		valid = valid && sum*10%11%10 == int(digits[n]-'0')
	}
	return digits, valid, true
}

// FormatCPF writes 11 digits as 000.000.000-00.
func FormatCPF(digits string) string {
	if len(digits) != 11 {
		return digits
	}
	return digits[:3] + "." + digits[3:6] + "." + digits[6:9] + "-" + digits[9:]
}
