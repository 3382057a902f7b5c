package store

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"integrationhub/clinic/internal/care"
)

// Person is what somebody goes by, to be found in what people wrote.
type Person struct {
	Names  []string // whole
	Phones []string // in any form that ends in the number
	Emails []string
}

// Reached tells whether a text has a number or an address of the person's in it. Numbers
// are known by their last eight digits, whatever stands between those.
func (p Person) Reached(text string) bool {
	lower, digits := strings.ToLower(text), care.Digits(text)
	return slices.ContainsFunc(p.Emails, func(email string) bool { return strings.Contains(lower, strings.ToLower(email)) }) ||
		slices.ContainsFunc(p.Phones, func(phone string) bool {
			number := care.Digits(phone)
			return len(number) >= 8 && strings.Contains(digits, number[len(number)-8:])
		})
}

// Named tells whether a text has the person's number, address or name in it: the whole
// name, or its first and last word.
func (p Person) Named(text string) bool {
	said := " " + words(text) + " "
	return p.Reached(text) || slices.ContainsFunc(p.Names, func(name string) bool {
		name = words(name)
		all := strings.Fields(name)
		return name != "" && (strings.Contains(said, " "+name+" ") || strings.Contains(said, " "+all[0]+" "+all[len(all)-1]+" "))
	})
}

// shortestName is how many letters a first name has that names anybody by itself.
const shortestName = 3

// Called is Named, or has the person's first name in it: for texts that are about them
// and nobody else.
func (p Person) Called(text string) bool {
	said := strings.Fields(words(text))
	return p.Named(text) || slices.ContainsFunc(p.Names, func(name string) bool {
		first, _, _ := strings.Cut(words(name), " ")
		return len(first) >= shortestName && slices.Contains(said, first)
	})
}

// words are a text's words without case, accents and what stands between them.
func words(text string) string {
	plain := strings.Map(func(c rune) rune {
		switch {
		case unicode.Is(unicode.Mn, c):
			return -1
		case unicode.IsLetter(c) || unicode.IsDigit(c):
			return unicode.ToLower(c)
		}
		return ' '
	}, norm.NFD.String(text))
	return strings.Join(strings.Fields(plain), " ")
}
