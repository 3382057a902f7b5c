package care

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"integrationhub/hub/module/names"
)

// FoldName returns a name in lower case without accents, like the column name_search, and without
// characters that nobody sees.
func FoldName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(strings.ToLower(names.RemoveInvisible(name))))
}

// particles are words of names that are often left out.
var particles = []string{"d", "da", "das", "de", "del", "di", "do", "dos", "du", "e", "la"}

// nameWords returns the words of a name, folded, without particles.
func nameWords(name string) []string {
	words := strings.FieldsFunc(FoldName(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	significant := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(particles, word) })
	if len(significant) == 0 {
		return words
	}
	return significant
}

// NamesAgree reports whether two names may be those of the same person: they have the same
// words in any order, or one is the other with words abbreviated or left out. The first
// word is never left out, and its initial alone needs two other words that are the same.
// Without the same birth date, the last word is not left out either, and only initials are: a
// mother's name may be a part of her child's.
func NamesAgree(a, b string, sameBirthDate bool) bool {
	short, long := nameWords(a), nameWords(b)
	if len(short) > len(long) {
		short, long = long, short
	}
	if len(short) == 0 {
		return false
	}
	if hasSameWords(short, long) {
		return true
	}
	if short[0] != long[0] {
		return abbreviatesFirstWord(short, long)
	}
	if !sameBirthDate && short[len(short)-1] != long[len(long)-1] {
		return false
	}
	return isAbbreviation(short[1:], long[1:], sameBirthDate)
}

// Degrees in which names agree.
const (
	NamesDiffer       = iota
	NameIsPart        // words are left out
	NameIsAbbreviated // initials are spelled out or left out, or the order is another
	NamesAreEqual     // but for case and accents
)

// NameAgreement returns the degree in which two names agree.
func NameAgreement(a, b string) int {
	switch {
	case FoldName(a) == FoldName(b) && HasLetter(a):
		return NamesAreEqual
	case NamesAgree(a, b, false):
		return NameIsAbbreviated
	case NamesAgree(a, b, true):
		return NameIsPart
	}
	return NamesDiffer
}

// HasLetter reports whether a name has a letter. One without, such as a picture, names nobody.
func HasLetter(name string) bool { return strings.ContainsFunc(name, unicode.IsLetter) }

func hasSameWords(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// abbreviatesFirstWord reports whether two names differ only in that words of one are initials in
// the other, the first one included. Two whole words must be the same: "A. Souza" may be anyone.
func abbreviatesFirstWord(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	same := 0
	for i := range a {
		if !isSameWord(a[i], b[i]) {
			return false
		}
		if a[i] == b[i] && !isInitial(a[i]) {
			same++
		}
	}
	return same >= 2
}

// isAbbreviation reports whether the words of short occur in long, in the same order. A
// word and its initial are the same. Words of long may be left out: initials, or all if
// mayOmit is true.
func isAbbreviation(short, long []string, mayOmit bool) bool {
	// matched[n] reports whether the words of long so far are the first n of short.
	matched := make([]bool, len(short)+1)
	matched[0] = true
	for _, word := range long {
		for n := len(short); n >= 0; n-- {
			matched[n] = matched[n] && (mayOmit || isInitial(word)) || n > 0 && matched[n-1] && isSameWord(short[n-1], word)
		}
	}
	return matched[len(short)]
}

func isSameWord(a, b string) bool {
	return a == b || isInitial(a) && strings.HasPrefix(b, a) || isInitial(b) && strings.HasPrefix(a, b)
}

func isInitial(word string) bool { return utf8.RuneCountInString(word) == 1 }

// FullerName returns the longer one of two names that agree: the second, unless it
// abbreviates the first or leaves out words of it.
func FullerName(current, other string) string {
	if words, otherWords := nameWords(current), nameWords(other); len(strings.Join(otherWords, "")) < len(strings.Join(words, "")) {
		return current
	}
	return other
}

// maxInitials bounds [Initials].
const maxInitials = 5

// Initials returns the initials of a name, such as "A. S." for Ana de Souza.
func Initials(name string) string {
	var initials []string
	for _, word := range nameWords(name) {
		first, _ := utf8.DecodeRuneInString(word)
		initials = append(initials, string(unicode.ToUpper(first))+".")
	}
	return strings.Join(initials[:min(len(initials), maxInitials)], " ")
}
