package importfile

import (
	"cmp"
	"slices"
	"strings"

	"integrationhub/hub/module/brazil"
)

// rankedPhone is a number of a row; lower ranks are better.
type rankedPhone struct {
	text string
	rank int
}

// Ranks of phone numbers.
const (
	rankMobile = iota
	rankOther
	rankLandline
	rankUnreadable
)

// rankPhone ranks a number: mobiles, which receive messages, come before landlines. Its
// column decides where the number itself does not.
func rankPhone(kind column, text string) int {
	const anyAreaCode = "11"
	number := brazil.FormatE164In(text, anyAreaCode)
	switch {
	case number == "":
		return rankUnreadable
	case isMobileNumber(number), kind == mobile && !strings.HasPrefix(number, "+55"):
		return rankMobile
	case kind == landline:
		return rankLandline
	}
	return rankOther
}

// isMobileNumber reports whether a number is that of a Brazilian mobile, with or without its
// ninth digit.
func isMobileNumber(number string) bool {
	const area = "+5511"
	if !strings.HasPrefix(number, "+55") || len(number) < len(area)+8 {
		return false
	}
	local := number[len(area):]
	return len(local) == 9 && local[0] == '9' || len(local) == 8 && local[0] >= '6'
}

// maxOtherPhones is how many numbers of a row are kept beside the best one.
const maxOtherPhones = 10

// sortPhones returns the best of a row's numbers, "" if it has none, and the best others.
func sortPhones(phones []rankedPhone) (best string, others []string) {
	slices.SortStableFunc(phones, func(a, b rankedPhone) int { return cmp.Compare(a.rank, b.rank) })
	for _, phone := range phones {
		switch {
		case best == "":
			best = phone.text
		case len(others) < maxOtherPhones && phone.text != best && !slices.Contains(others, phone.text):
			others = append(others, phone.text)
		}
	}
	return best, others
}
