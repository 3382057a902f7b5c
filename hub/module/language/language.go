// Package language selects a supported language.
package language

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Match returns the first supported tag, such as "pt-BR", with the language of tag,
// whatever its region. It returns "" if there is none.
func Match(tag string, supported ...string) string {
	language := base(tag)
	if i := slices.IndexFunc(supported, func(candidate string) bool { return base(candidate) == language }); i >= 0 {
		return supported[i]
	}
	return ""
}

// base returns the language of a tag, without its region.
func base(tag string) string {
	language, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
	return language
}

// MatchAcceptLanguage returns the supported tag that an Accept-Language header prefers,
// or "" if it accepts none.
func MatchAcceptLanguage(header string, supported ...string) string {
	type preference struct {
		tag     string
		quality float64
	}
	var preferences []preference
	for part := range strings.SplitSeq(header, ",") {
		tag, parameters, _ := strings.Cut(part, ";")
		quality := 1.0
		if q, found := strings.CutPrefix(strings.TrimSpace(parameters), "q="); found {
			quality, _ = strconv.ParseFloat(q, 64) // 0 if invalid: not accepted
		}
		if found := Match(tag, supported...); found != "" && quality > 0 {
			preferences = append(preferences, preference{found, quality})
		}
	}
	if len(preferences) == 0 {
		return ""
	}
	slices.SortStableFunc(preferences, func(a, b preference) int { return cmp.Compare(b.quality, a.quality) })
	return preferences[0].tag
}
