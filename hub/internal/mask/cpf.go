// Package mask hides what people and logs need not see: CPF numbers in payloads,
// and keys and signatures in headers.
package mask

import (
	"bytes"
	"encoding/json"
)

// cpfDigits is the length of a CPF (Brazilian taxpayer number), check digits included.
const cpfDigits = 11

// CPF hides the CPF numbers in a text, all but the check digits: ***.***.***-09.
// A number is one in its usual form, ddd.ddd.ddd-dd, or eleven digits without all
// of the separators whose check digits are right; it stands alone, not inside a
// longer word or number. JSON stays JSON: escapes are seen through, and a number
// becomes a string. The text itself is not changed; it is returned where it has
// nothing to hide.
func CPF(text []byte) []byte {
	if json.Valid(text) {
		return maskJSON(text)
	}
	masked, _ := maskText(text)
	return masked
}

// Text hides the CPF numbers in plain text, as [CPF] does.
func Text(text string) string {
	masked, _ := maskText([]byte(text))
	return string(masked)
}

// maskJSON masks the strings and the numbers of a valid JSON text.
func maskJSON(text []byte) []byte {
	var out []byte
	done := 0 // text[:done] is in out
	replace := func(start, end int, with []byte) {
		out = append(append(out, text[done:start]...), with...)
		done = end
	}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end := stringEnd(text, i)
			if masked, changed := maskString(text[i:end]); changed {
				replace(i, end, masked)
			}
			i = end
		case c == '-' || isDigit(c):
			end := numberEnd(text, i)
			if found, ok := matchCPF(text[i:end]); ok && found.length == end-i {
				replace(i, end, found.mask([]byte{'"'}, '"'))
			}
			i = end
		default:
			i++
		}
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// stringEnd gives the offset after the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// numberEnd gives the offset after the number that begins at i.
func numberEnd(text []byte, i int) int {
	rest := bytes.TrimLeft(text[i:], "0123456789.eE+-")
	return len(text) - len(rest)
}

// maskString masks a JSON string with its quotes. Escapes are taken away only where
// there is something to mask behind them.
func maskString(quoted []byte) (masked []byte, changed bool) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return maskText(quoted)
	}
	var plain string
	if err := json.Unmarshal(quoted, &plain); err != nil { // cannot happen: the text is valid
		return quoted, false
	}
	found, changed := maskText([]byte(plain))
	if !changed {
		return quoted, false
	}
	masked, err := json.Marshal(string(found))
	if err != nil { // cannot happen: every string marshals
		return quoted, false
	}
	return masked, true
}

// maskText masks a plain text.
func maskText(text []byte) (masked []byte, changed bool) {
	var out []byte
	done := 0 // text[:done] is in out
	for i := 0; i < len(text); i++ {
		if !isDigit(text[i]) || i > 0 && isWord(text[i-1]) {
			continue
		}
		found, ok := matchCPF(text[i:])
		if !ok || i+found.length < len(text) && isWord(text[i+found.length]) {
			continue
		}
		out = found.mask(append(out, text[done:i]...))
		done = i + found.length
		i = done - 1
	}
	if done == 0 {
		return text, false
	}
	return append(out, text[done:]...), true
}

// match is a CPF that was found at the beginning of a text.
type match struct {
	length int     // bytes it takes in the text
	check  [2]byte // its check digits
}

// mask appends the masked number, and what comes after it.
func (m match) mask(dst []byte, after ...byte) []byte {
	dst = append(dst, "***.***.***-"...)
	return append(append(dst, m.check[:]...), after...)
}

// matchCPF looks for a CPF at the very beginning of text.
func matchCPF(text []byte) (found match, ok bool) {
	var digits [cpfDigits]byte
	i, separators := 0, 0
	for n := range digits {
		if i < len(text) && (n == 3 || n == 6) && text[i] == '.' || i < len(text) && n == 9 && text[i] == '-' {
			separators++
			i++
		}
		if i >= len(text) || !isDigit(text[i]) {
			return match{}, false
		}
		digits[n] = text[i]
		i++
	}
	found = match{length: i, check: [2]byte(digits[9:])}
	return found, separators == 3 || checks(digits)
}

// checks tells whether the check digits are right; eleven times the same digit is
// no CPF, although they are then.
func checks(digits [cpfDigits]byte) bool {
	same := true
	for _, d := range digits {
		same = same && d == digits[0]
	}
	return !same && checkDigit(digits[:9]) == digits[9] && checkDigit(digits[:10]) == digits[10]
}

// checkDigit gives the digit that follows the given ones.
func checkDigit(digits []byte) byte {
	sum := 0
	for i, d := range digits {
		sum += int(d-'0') * (len(digits) + 1 - i)
	}
	return "00987654321"[sum%11]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWord tells whether c makes a longer word of the number beside it.
func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}
