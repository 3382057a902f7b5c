package eventtype

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// runs is a regular expression that is a sequence of runs of characters, from the begin to the
// end of the text: ^[0-9]{5}-[0-9]{3}$ or ^[a-z][a-z0-9_]*$. Most patterns of schemas are;
// matching them takes a tenth of what a regular expression takes.
type runs []run

// run is a number of characters of one class.
type run struct {
	ascii    [utf8.RuneSelf]bool
	ranges   []rune // pairs of a first and a last character, sorted
	min, max int    // how many; max -1: any number
}

// runsOf returns the runs of an expression; nil if it is not a sequence of runs, or if where
// one of them ends depends on what follows.
func runsOf(expression *syntax.Regexp) *runs {
	parts := flatten(expression)
	last := len(parts) - 1
	if last < 1 || parts[0].Op != syntax.OpBeginText || parts[last].Op != syntax.OpEndText {
		return nil
	}
	var sequence runs
	for _, part := range parts[1:last] {
		next, ok := runsOfPart(part)
		if !ok {
			return nil
		}
		sequence = append(sequence, next...)
	}
	if !sequence.areSeparate() {
		return nil
	}
	return &sequence
}

// flatten lists the parts of an expression one after the other, without its groups.
func flatten(expression *syntax.Regexp) (parts []*syntax.Regexp) {
	if expression.Op != syntax.OpConcat && expression.Op != syntax.OpCapture {
		return []*syntax.Regexp{expression}
	}
	for _, part := range expression.Sub {
		parts = append(parts, flatten(part)...)
	}
	return parts
}

func runsOfPart(part *syntax.Regexp) (runs, bool) {
	switch part.Op {
	case syntax.OpLiteral:
		if part.Flags&syntax.FoldCase != 0 {
			return nil, false
		}
		var list runs
		for _, character := range part.Rune {
			list = append(list, newRun([]rune{character, character}))
		}
		return list, true
	case syntax.OpCharClass:
		return runs{newRun(part.Rune)}, true
	case syntax.OpAnyChar:
		return runs{newRun([]rune{0, unicode.MaxRune})}, true
	case syntax.OpAnyCharNotNL:
		return runs{newRun([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune})}, true
	case syntax.OpStar:
		return repeat(part.Sub[0], 0, -1)
	case syntax.OpPlus:
		return repeat(part.Sub[0], 1, -1)
	case syntax.OpQuest:
		return repeat(part.Sub[0], 0, 1)
	case syntax.OpRepeat:
		return repeat(part.Sub[0], part.Min, part.Max)
	}
	return nil, false
}

func repeat(part *syntax.Regexp, least, most int) (runs, bool) {
	list, ok := runsOfPart(part)
	if !ok || len(list) != 1 || list[0].min != 1 || list[0].max != 1 {
		return nil, false
	}
	list[0].min, list[0].max = least, most
	return list, true
}

// newRun returns a run of one character.
func newRun(ranges []rune) run {
	r := run{ranges: ranges, min: 1, max: 1}
	for i := 0; i < len(ranges); i += 2 {
		for character := ranges[i]; character <= min(ranges[i+1], utf8.RuneSelf-1); character++ {
			r.ascii[character] = true
		}
	}
	return r
}

// areSeparate reports whether a run that may end early is followed only by characters that
// are not its own: then it ends where the first of those is.
func (s runs) areSeparate() bool {
	for i, r := range s {
		if r.min == r.max {
			continue
		}
		for _, follower := range s[i+1:] {
			if r.overlaps(follower) {
				return false
			}
			if follower.min > 0 {
				break
			}
		}
	}
	return true
}

func (r run) overlaps(other run) bool {
	for i := 0; i < len(r.ranges); i += 2 {
		for j := 0; j < len(other.ranges); j += 2 {
			if r.ranges[i] <= other.ranges[j+1] && other.ranges[j] <= r.ranges[i+1] {
				return true
			}
		}
	}
	return false
}

func (s *runs) match(text string) bool {
	for i := range *s {
		var ok bool
		if text, ok = (*s)[i].skip(text); !ok {
			return false
		}
	}
	return text == ""
}

// skip returns what follows the run at the begin of a text; false if there is none.
func (r *run) skip(text string) (rest string, ok bool) {
	count, at := 0, 0
	for ; at < len(text) && count != r.max; count++ {
		if character := text[at]; character < utf8.RuneSelf {
			if !r.ascii[character] {
				break
			}
			at++
			continue
		}
		character, size := utf8.DecodeRuneInString(text[at:])
		if !r.has(character) {
			break
		}
		at += size
	}
	return text[at:], count >= r.min
}

func (r *run) has(character rune) bool {
	for i := 0; i < len(r.ranges); i += 2 {
		if r.ranges[i] <= character && character <= r.ranges[i+1] {
			return true
		}
	}
	return false
}
