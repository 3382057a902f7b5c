package brazil

import (
	"unicode"
	"unicode/utf8"
)

// RedactCPFs masks the tax ids in a text, except their check digits: ***.***.***-09.
// changed reports whether there were any; otherwise the text itself is returned.
//
// A tax id is eleven digits with valid check digits, in groups of 3, 3, 3 and 2 with up to
// three separators between them. It is not adjacent to another digit, but may be adjacent
// to letters. In the format 000.000.000-00 it counts even with invalid check digits, which
// may be a typing error.
func RedactCPFs[T string | []byte](text T) (redacted T, changed bool) {
	var out []byte
	done := 0 // text[:done] is in out
	for {
		start, end := findCPF(text, done)
		if end == 0 {
			break
		}
		out = append(out, text[done:start]...)
		out = append(out, cpfMask...)
		out = append(out, text[end-2:end]...)
		done = end
	}
	if done == 0 {
		return text, false
	}
	return T(append(out, text[done:]...)), true
}

// findCPF returns the bounds of the first tax id in text[from:]; end is 0 if there is none.
// Tax ids never overlap, because a group belongs to one only.
func findCPF[T string | []byte](text T, from int) (start, end int) {
	for i := from; i < len(text); i++ {
		if !isDigit(text[i]) {
			continue
		}
		n := countDigits(text, i)
		if n == 3 || n == 6 || n == 9 || n == cpfLength { // whole groups of a tax id
			if end := cpfEnd(text, i, n); end != 0 {
				return i, end
			}
		}
		i += n
	}
	return 0, 0
}

// cpfEnd returns the end of the tax id that begins at start with n digits, or 0 if there is
// none.
func cpfEnd[T string | []byte](text T, start, n int) (end int) {
	var digits [cpfLength]byte
	for pos, found := start, 0; ; n = countDigits(text, pos) {
		if n == 0 || found+n > cpfLength {
			return 0
		}
		copy(digits[found:], text[pos:pos+n])
		found, pos = found+n, pos+n
		if found == cpfLength {
			end = pos
			break
		}
		gap := separatorBytes(text, pos)
		if found%3 != 0 || gap == 0 {
			return 0
		}
		pos += gap
	}
	isUsualFormat := end-start == len("000.000.000-00") && text[start+3] == '.' && text[start+7] == '.' && text[start+11] == '-'
	if isUsualFormat || hasValidCheckDigits(&digits) {
		return end
	}
	return 0
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// countDigits returns the number of consecutive digits at text[start:].
func countDigits[T string | []byte](text T, start int) int {
	i := start
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return i - start
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
// slashes of all kinds, spaces, and invisible characters.
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
