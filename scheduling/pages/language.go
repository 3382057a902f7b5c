package pages

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// language is what the pages know of a language. Every text is in [words].
type language struct {
	tag  string // BCP 47, as in the lang attribute
	name string // of the language, in itself

	months                  [12]string
	weekdays, shortWeekdays [7]string // from Monday
	dayForm, monthForm      string    // with {weekday}, {day}, {month}, {year}
	halves                  [2]string // of a day of twelve hours
	thousands, decimal      string
	symbolAfter             bool // the currency follows the amount

	words words
}

// languages are those that the pages speak; the first one where nothing tells.
var languages = []*language{&portuguese, &english, &spanish}

// spoken finds the language that a tag asks for: the language counts, not the region.
func spoken(tag string) *language {
	asked, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
	for _, l := range languages {
		if base, _, _ := strings.Cut(l.tag, "-"); base == asked {
			return l
		}
	}
	return nil
}

// accepted finds the language a browser likes best of those that are spoken.
func accepted(header string) *language {
	type wish struct {
		lang    *language
		quality float64
	}
	var wishes []wish
	for part := range strings.SplitSeq(header, ",") {
		tag, parameters, _ := strings.Cut(part, ";")
		quality := 1.0
		if q, found := strings.CutPrefix(strings.TrimSpace(parameters), "q="); found {
			quality, _ = strconv.ParseFloat(q, 64) // 0 for what is none: not wanted
		}
		if l := spoken(tag); l != nil && quality > 0 {
			wishes = append(wishes, wish{l, quality})
		}
	}
	if len(wishes) == 0 {
		return nil
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(b.quality, a.quality) })
	return wishes[0].lang
}

// chooseLanguage is the one asked for by the address, else by the browser, else the
// organization's, else the first.
func chooseLanguage(asked, header, organization string) (l *language, explicit bool) {
	if l := spoken(asked); l != nil {
		return l, true
	}
	return cmp.Or(accepted(header), spoken(organization), languages[0]), false
}
