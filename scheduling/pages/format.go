package pages

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"integrationhub/scheduling/internal/booking"
)

// nbsp keeps an amount and its currency on one line.
const nbsp = "\u00a0"

// currencySymbols of currencies that many readers know; others show their code.
var currencySymbols = map[string]string{"BRL": "R$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹"}

// formatMoney writes an amount as people who read the language do.
func (l *language) formatMoney(c booking.Cents, currency string) string {
	symbol := currencySymbols[currency]
	switch {
	case currency == "USD" && l.tag == "en":
		symbol = "$"
	case currency == "USD":
		symbol = "US$"
	case symbol == "":
		symbol = currency
	}
	amount := l.formatNumber(c, booking.Decimals(currency) > 0)
	switch {
	case l.symbolAfter:
		return amount + nbsp + symbol
	case l.tag == "en" && symbol != currency:
		return symbol + amount
	}
	return symbol + nbsp + amount
}

func (l *language) formatNumber(c booking.Cents, decimals bool) string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	whole := strconv.FormatInt(int64(c)/100, 10)
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + l.thousands + whole[i:]
	}
	if !decimals {
		return sign + whole
	}
	return fmt.Sprintf("%s%s%s%02d", sign, whole, l.decimal, int64(c)%100)
}

// formatDuration writes minutes: 45 min, 1 h 30 min.
func formatDuration(minutes int) string {
	h, m := minutes/60, minutes%60
	switch {
	case h == 0:
		return fmt.Sprintf("%d%smin", m, nbsp)
	case m == 0:
		return fmt.Sprintf("%d%sh", h, nbsp)
	}
	return fmt.Sprintf("%d%sh%s%d%smin", h, nbsp, nbsp, m, nbsp)
}

// formatClock writes a time of day.
func (l *language) formatClock(t time.Time, twelve bool) string {
	if !twelve {
		return t.Format("15:04")
	}
	half := l.halves[0]
	if t.Hour() >= 12 {
		half = l.halves[1]
	}
	return t.Format("3:04") + nbsp + half
}

// formatDay writes a date in full: terça-feira, 3 de março de 2026.
func (l *language) formatDay(d booking.Date) string {
	t := d.Time()
	return strings.NewReplacer("{weekday}", l.weekdayName(d), "{day}", strconv.Itoa(t.Day()), "{month}", l.months[t.Month()-1], "{year}", strconv.Itoa(t.Year())).Replace(l.dayForm)
}

// formatMonth writes a month: março de 2026.
func (l *language) formatMonth(d booking.Date) string {
	t := d.Time()
	return strings.NewReplacer("{month}", l.months[t.Month()-1], "{year}", strconv.Itoa(t.Year())).Replace(l.monthForm)
}

func (l *language) weekdayName(d booking.Date) string { return l.weekdays[d.Weekday()] }

// zoneName names a time zone for people: São Paulo (GMT−3).
func zoneName(t time.Time) string {
	name := t.Location().String()
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	name = strings.NewReplacer("Sao_", "São ", "_", " ").Replace(name)
	if name == "UTC" {
		return name
	}
	return name + " (" + formatOffset(t) + ")"
}

// formatOffset writes how far a time's zone is from Greenwich: GMT−3, GMT+5:30.
func formatOffset(t time.Time) string {
	_, seconds := t.Zone()
	sign := "+"
	if seconds < 0 {
		sign, seconds = "−", -seconds
	}
	if seconds == 0 {
		return "GMT"
	}
	text := "GMT" + sign + strconv.Itoa(seconds/3600)
	if rest := seconds / 60 % 60; rest > 0 {
		text += fmt.Sprintf(":%02d", rest)
	}
	return text
}

// capitalize begins a text with a capital letter.
func capitalize(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// initialOf is the letter that stands for an organization without a logo.
func initialOf(name string) string {
	for _, r := range name {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return string(unicode.ToUpper(r))
		}
	}
	return "•"
}

// formatPhone writes a number as its people do: those of Brazil, which are stored in
// international form, with their area code in front.
func formatPhone(number string) string {
	digits, found := strings.CutPrefix(number, "+55")
	if n := len(digits); !found || n != 10 && n != 11 {
		return number
	}
	return "(" + digits[:2] + ") " + digits[2:len(digits)-4] + "-" + digits[len(digits)-4:]
}
