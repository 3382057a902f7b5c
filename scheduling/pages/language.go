package pages

import (
	"cmp"
	"slices"

	find "integrationhub/hub/module/language"
)

// language holds the formats of a language. The texts are in [messages].
type language struct {
	tag  string // BCP 47, as in the lang attribute
	name string // of the language, in itself

	months                  [12]string
	weekdays, shortWeekdays [7]string // from Monday
	dayForm, monthForm      string    // with {weekday}, {day}, {month}, {year}
	halves                  [2]string // of a day of twelve hours
	thousands, decimal      string
	symbolAfter             bool // the currency follows the amount

	messages messages
}

// languages are the supported languages. The first is the default.
var languages = []*language{&portuguese, &english, &spanish}

// languageByTag returns the language of a tag, or nil.
func languageByTag(tag string) *language {
	if i := slices.IndexFunc(languages, func(l *language) bool { return l.tag == tag }); i >= 0 {
		return languages[i]
	}
	return nil
}

// chooseLanguage returns the language of the address, else of the browser, else of the
// organization, else the default.
func chooseLanguage(requested, header, organization string) (l *language, explicit bool) {
	var tags []string
	for _, candidate := range languages {
		tags = append(tags, candidate.tag)
	}
	if l := languageByTag(find.Match(requested, tags...)); l != nil {
		return l, true
	}
	return languageByTag(cmp.Or(find.MatchAcceptLanguage(header, tags...), find.Match(organization, tags...), tags[0])), false
}
