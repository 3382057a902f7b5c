package brazil

import (
	"unicode"
	"unicode/utf8"
)

// RedactCPFs hides the tax ids in a text, all but their check digits: ***.***.***-09.
// changed tells whether there were any; without, the text itself is returned.
//
// A tax id in a text is eleven digits in groups of 3, 3, 3 and 2, each two of them with
// up to three separators between or with none, whose check digits are right. No digit
// stands directly beside it; letters may. In the form 000.000.000-00 it is one whatever
// the check digits: people mistype.
func RedactCPFs[T string | []byte](text T) (hidden T, changed bool) {
	var out []byte
	done := 0 // text[:done] is in out
	for {
		start, end := findCPF(text, done)
		if end == 0 {
			break
		}
		out = append(out, text[done:start]...)
		out = append(out, cpfHidden...)
		out = append(out, text[end-2:end]...)
		done = end
	}
	if done == 0 {
		return text, false
	}
	return T(append(out, text[done:]...)), true
}

// findCPF gives where the first tax id in text[from:] begins and ends, 0 where there is
// none. Two of them never overlap: what one leaves of a group is no group of another.
func findCPF[T string | []byte](text T, from int) (start, end int) {
	for i := from; i < len(text); i++ {
		if !isDigit(text[i]) {
			continue
		}
		n := run(text, i)
		if n == 3 || n == 6 || n == 9 || n == cpfLength { // groups that a tax id can begin with
			if end := endOfCPF(text, i, n); end != 0 {
				return i, end
			}
		}
		i += n
	}
	return 0, 0
}

// endOfCPF gives where the tax id ends that begins at start with a run of so many digits,
// 0 where it is none.
func endOfCPF[T string | []byte](text T, start, n int) (end int) {
	var digits [cpfLength]byte
	for at, got := start, 0; ; n = run(text, at) {
		if n == 0 || got+n > cpfLength {
			return 0
		}
		copy(digits[got:], text[at:at+n])
		got, at = got+n, at+n
		if got == cpfLength {
			end = at
			break
		}
		gap := separators(text, at)
		if got%3 != 0 || gap == 0 {
			return 0
		}
		at += gap
	}
	usual := end-start == len("000.000.000-00") && text[start+3] == '.' && text[start+7] == '.' && text[start+11] == '-'
	if usual || checks(&digits) {
		return end
	}
	return 0
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// run is how many digits stand at a place of a text.
func run[T string | []byte](text T, at int) int {
	i := at
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return i - at
}

// separatorsMax is how many characters stand between two groups of a tax id at most.
const separatorsMax = 3

// separators is how many bytes at a place of a text can stand between two groups.
func separators[T string | []byte](text T, at int) int {
	i := at
	for range separatorsMax {
		if i == len(text) {
			break
		}
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
		}
		if !isSeparator(r) {
			break
		}
		i += size
	}
	return i - at
}

// isSeparator tells whether a character separates groups of digits: points, dashes and
// slashes of all kinds, spaces, and what cannot be seen.
func isSeparator(r rune) bool {
	switch r {
	case '.', ',', '-', '/', '_', '\\', ' ', '·', '•', '−', '⁄', '∕':
		return true
	}
	if r < utf8.RuneSelf {
		return '\t' <= r && r <= '\r'
	}
	return unicode.In(r, unicode.Z, unicode.Pd, unicode.Cf)
}
