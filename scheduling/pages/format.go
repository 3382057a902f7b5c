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

// currencySymbols are the widely known symbols. Other currencies show their code.
var currencySymbols = map[string]string{"BRL": "R$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹"}

// formatMoney formats an amount in the conventions of the language.
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

func (l *language) formatNumber(amount booking.Cents, decimals bool) string {
	sign := ""
	if amount < 0 {
		sign, amount = "-", -amount
	}
	whole := strconv.FormatInt(int64(amount)/100, 10)
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + l.thousands + whole[i:]
	}
	if !decimals {
		return sign + whole
	}
	return fmt.Sprintf("%s%s%s%02d", sign, whole, l.decimal, int64(amount)%100)
}

// formatDuration formats minutes: 45 min, 1 h 30 min.
func formatDuration(minutes int) string {
	hours, rest := minutes/60, minutes%60
	switch {
	case hours == 0:
		return fmt.Sprintf("%d%smin", rest, nbsp)
	case rest == 0:
		return fmt.Sprintf("%d%sh", hours, nbsp)
	}
	return fmt.Sprintf("%d%sh%s%d%smin", hours, nbsp, nbsp, rest, nbsp)
}

// formatClock formats a time of day.
func (l *language) formatClock(moment time.Time, twelveHour bool) string {
	if !twelveHour {
		return moment.Format("15:04")
	}
	half := l.halves[0]
	if moment.Hour() >= 12 {
		half = l.halves[1]
	}
	return moment.Format("3:04") + nbsp + half
}

// formatDay formats a full date: terça-feira, 3 de março de 2026.
func (l *language) formatDay(date booking.Date) string {
	day := date.Time()
	return strings.NewReplacer("{weekday}", l.weekdayName(date), "{day}", strconv.Itoa(day.Day()), "{month}", l.months[day.Month()-1], "{year}", strconv.Itoa(day.Year())).Replace(l.dayForm)
}

// formatMonth formats a month: março de 2026.
func (l *language) formatMonth(date booking.Date) string {
	day := date.Time()
	return strings.NewReplacer("{month}", l.months[day.Month()-1], "{year}", strconv.Itoa(day.Year())).Replace(l.monthForm)
}

func (l *language) weekdayName(date booking.Date) string { return l.weekdays[date.Weekday()] }

// zoneName returns a readable name of a time zone: São Paulo (GMT−3).
func zoneName(moment time.Time) string {
	name := moment.Location().String()
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	name = strings.NewReplacer("Sao_", "São ", "_", " ").Replace(name)
	if name == "UTC" {
		return name
	}
	return name + " (" + booking.FormatOffset(moment) + ")"
}

// capitalize puts the first letter of a text in upper case.
func capitalize(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// initialOf returns the letter that stands for an organization without a logo.
func initialOf(name string) string {
	for _, letter := range name {
		if unicode.IsLetter(letter) || unicode.IsDigit(letter) {
			return string(unicode.ToUpper(letter))
		}
	}
	return "•"
}

// formatPhone formats a stored Brazilian number in the national form. Other numbers stay
// as they are.
func formatPhone(number string) string {
	digits, found := strings.CutPrefix(number, "+55")
	if length := len(digits); !found || length != 10 && length != 11 {
		return number
	}
	return "(" + digits[:2] + ") " + digits[2:len(digits)-4] + "-" + digits[len(digits)-4:]
}
