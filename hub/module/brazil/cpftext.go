package brazil

import (
	"unicode"
	"unicode/utf8"
)

// RedactCPFs masks the tax ids in a text, except their check digits: ***.***.***-09.
// changed reports whether there were any; otherwise the text itself is returned.
//
// A tax id is eleven digits with valid check digits, ASCII or full-width, in groups of 3,
// 3, 3 and 2 with up to three separators between them, or with up to three separators
// between all digits. It is not adjacent to another digit, but may be adjacent to letters.
// In the format 000.000.000-00 it counts even with invalid check digits, which may be a
// typing error.
func RedactCPFs[T string | []byte](text T) (redacted T, changed bool) {
	var out []byte
	done := 0 // text[:done] is in out
	for {
		found := findCPF(text, done)
		if found.end == 0 {
			break
		}
		out = append(out, text[done:found.start]...)
		out = append(out, cpfMask...)
		out = append(out, found.digits[cpfLength-2:]...)
		done = found.end
	}
	if done == 0 {
		return text, false
	}
	return T(append(out, text[done:]...)), true
}

// FindCPFs returns the digits of the tax ids in a text that [RedactCPFs] masks.
func FindCPFs[T string | []byte](text T) (digits []string) {
	for match := findCPF(text, 0); match.end != 0; match = findCPF(text, match.end) {
		digits = append(digits, string(match.digits[:]))
	}
	return digits
}

// cpfMatch is a tax id in a text.
type cpfMatch struct {
	start, end int // in bytes; end is 0 if there is none
	digits     [cpfLength]byte
}

// findCPF returns the first tax id in text[from:]. It ends where no digit follows, so the
// search for the next one may begin there.
func findCPF[T string | []byte](text T, from int) cpfMatch {
	for i := from; i < len(text); i++ {
		if !isDigit(text[i]) && text[i] != fullWidthLead {
			continue
		}
		n, size := countDigits(text, i)
		if n == 1 || n == 3 || n == 6 || n == 9 || n == cpfLength { // one digit, or whole groups of a tax id
			if match := matchCPF(text, i); match.end != 0 {
				return match
			}
		}
		i += max(size-1, 0)
	}
	return cpfMatch{}
}

// matchCPF returns the tax id that begins at text[start:], where a digit begins.
func matchCPF[T string | []byte](text T, start int) cpfMatch {
	match := cpfMatch{start: start}
	n, _ := countDigits(text, start)
	isSpaced, isUsualFormat := n == 1, true
	for pos, found := start, 0; ; n, _ = countDigits(text, pos) {
		if n == 0 || found+n > cpfLength || isSpaced && n > 1 {
			return cpfMatch{}
		}
		for range n {
			digit, width := digitAt(text, pos)
			match.digits[found] = digit
			found, pos = found+1, pos+width
		}
		if found == cpfLength {
			match.end = pos
			break
		}
		gap := separatorBytes(text, pos)
		if gap == 0 || !isSpaced && found%3 != 0 {
			return cpfMatch{}
		}
		isUsualFormat = isUsualFormat && n == 3 && isUsualSeparator(string(text[pos:pos+gap]), found)
		pos += gap
	}
	if isUsualFormat && n == 2 || hasValidCheckDigits(&match.digits) {
		return match
	}
	return cpfMatch{}
}

// isUsualSeparator reports whether a separator is the one of the format 000.000.000-00
// after a number of digits, ASCII or full-width.
func isUsualSeparator(separator string, digitsBefore int) bool {
	if digitsBefore == cpfLength-2 {
		return separator == "-" || separator == "\uff0d"
	}
	return separator == "." || separator == "\uff0e"
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// The full-width digits are U+FF10 to U+FF19: EF BC 90 to EF BC 99 in UTF-8.
const (
	fullWidthLead  = 0xEF
	fullWidthSize  = 3
	fullWidthRow   = 0xBC
	fullWidthDigit = 0x90 // the last byte of zero
)

// digitAt returns the ASCII form of the digit at text[i:] and its length in bytes, 0 if
// there is no digit.
func digitAt[T string | []byte](text T, i int) (digit byte, size int) {
	switch {
	case i >= len(text):
	case isDigit(text[i]):
		return text[i], 1
	case text[i] == fullWidthLead && i+fullWidthSize <= len(text) && text[i+1] == fullWidthRow && text[i+2]-fullWidthDigit <= 9:
		return '0' + text[i+2] - fullWidthDigit, fullWidthSize
	}
	return 0, 0
}

// countDigits returns the number of consecutive digits at text[start:] and their length in
// bytes.
func countDigits[T string | []byte](text T, start int) (n, size int) {
	for i := start; ; n++ {
		for i < len(text) && isDigit(text[i]) {
			n, i = n+1, i+1
		}
		_, width := digitAt(text, i) // in full width
		if width == 0 {
			return n, i - start
		}
		i += width
	}
}

// maxSeparators is the maximum number of characters between two groups of a tax id.
const maxSeparators = 3

// separatorBytes returns the length of the separator at text[start:], in bytes.
func separatorBytes[T string | []byte](text T, start int) int {
	i := start
	for range maxSeparators {
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
	return i - start
}

// isSeparator reports whether a character separates groups of digits: points, dashes and
// slashes of all kinds, spaces, and invisible characters; also in full width.
func isSeparator(r rune) bool {
	switch r {
	case '.', ',', '-', '/', '_', '\\', ' ', '·', '•', '−', '⁄', '∕', '．', '，', '／', '＿', '＼':
		return true
	}
	if r < utf8.RuneSelf {
		return '\t' <= r && r <= '\r'
	}
	return unicode.In(r, unicode.Z, unicode.Pd, unicode.Cf)
}
