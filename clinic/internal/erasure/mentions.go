package erasure

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"integrationhub/clinic/internal/care"
)

// MentionMatcher recognizes a patient in texts.
type MentionMatcher struct {
	Names  []string // complete
	Phones []string // in any notation that ends in the number
	Emails []string
}

// phoneSuffix is how many last digits of a phone number are compared.
const phoneSuffix = 8

// HasContactIn reports whether a text contains one of the person's phone numbers or e-mail
// addresses. Numbers match by their last eight digits, however they are separated.
func (p MentionMatcher) HasContactIn(text string) bool {
	lower, digits := strings.ToLower(text), care.Digits(text)
	return slices.ContainsFunc(p.Emails, func(email string) bool { return strings.Contains(lower, strings.ToLower(email)) }) ||
		slices.ContainsFunc(p.Phones, func(phone string) bool {
			number := care.Digits(phone)
			return len(number) >= phoneSuffix && strings.Contains(digits, number[len(number)-phoneSuffix:])
		})
}

// IsIdentifiedIn reports whether a text contains one of the person's phone numbers, e-mail
// addresses or names. A name matches as a whole, or by its first and last word.
func (p MentionMatcher) IsIdentifiedIn(text string) bool {
	normalized := " " + normalize(text) + " "
	return p.HasContactIn(text) || slices.ContainsFunc(p.Names, func(name string) bool {
		name = normalize(name)
		words := strings.Fields(name)
		return name != "" && (strings.Contains(normalized, " "+name+" ") || strings.Contains(normalized, " "+words[0]+" "+words[len(words)-1]+" "))
	})
}

// minFirstName is how many letters a first name must have to identify a person alone.
const minFirstName = 3

// IsIdentifiedByFirstNameIn is [MentionMatcher.IsIdentifiedIn], and also matches the first name alone. It is for
// texts that are about this person only.
func (p MentionMatcher) IsIdentifiedByFirstNameIn(text string) bool {
	words := strings.Fields(normalize(text))
	return p.IsIdentifiedIn(text) || slices.ContainsFunc(p.Names, func(name string) bool {
		first, _, _ := strings.Cut(normalize(name), " ")
		return len(first) >= minFirstName && slices.Contains(words, first)
	})
}

// normalize returns the words of a text in lower case, without accents, separated by single
// spaces.
func normalize(text string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return ' '
	}, norm.NFD.String(text))
	return strings.Join(strings.Fields(plain), " ")
}
