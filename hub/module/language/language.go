// Package language finds the language to speak to somebody in, of those that are spoken.
package language

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Match gives the one of some tags, such as "pt-BR", that a tag asks for, "" where none
// does: the language counts, not the region.
func Match(tag string, spoken ...string) string {
	asked := base(tag)
	if i := slices.IndexFunc(spoken, func(one string) bool { return base(one) == asked }); i >= 0 {
		return spoken[i]
	}
	return ""
}

func base(tag string) string {
	language, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
	return language
}

// MatchAcceptLanguage gives the one of some tags that a browser likes best, by its
// Accept-Language; "" where it likes none.
func MatchAcceptLanguage(header string, spoken ...string) string {
	type wish struct {
		tag     string
		quality float64
	}
	var wishes []wish
	for part := range strings.SplitSeq(header, ",") {
		tag, parameters, _ := strings.Cut(part, ";")
		quality := 1.0
		if q, found := strings.CutPrefix(strings.TrimSpace(parameters), "q="); found {
			quality, _ = strconv.ParseFloat(q, 64) // 0 for what is none: not wanted
		}
		if found := Match(tag, spoken...); found != "" && quality > 0 {
			wishes = append(wishes, wish{found, quality})
		}
	}
	if len(wishes) == 0 {
		return ""
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(b.quality, a.quality) })
	return wishes[0].tag
}
