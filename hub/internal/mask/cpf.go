// Package mask hides secrets and personal data from people and logs: CPF numbers in
// payloads, and keys and signatures in headers.
package mask

import (
	"bytes"
	"encoding/json"

	"integrationhub/hub/module/brazil"
)

// cpfDigits is the length of a CPF (Brazilian taxpayer number), check digits included.
const cpfDigits = 11

// CPF masks the CPF numbers in a text, as [brazil.RedactCPFs] does. JSON stays JSON: escaped
// digits are found too, and a masked number becomes a string. The text itself is not
// changed; it is returned if it has nothing to mask.
func CPF(text []byte) []byte {
	if json.Valid(text) {
		return maskJSON(text)
	}
	masked, _ := brazil.RedactCPFs(text)
	return masked
}

// Text masks the CPF numbers in plain text, as [CPF] does.
func Text(text string) string {
	masked, _ := brazil.RedactCPFs(text)
	return masked
}

// maskJSON masks the strings and the numbers of a valid JSON text.
func maskJSON(text []byte) []byte {
	var out []byte
	copied := 0 // text[:copied] is in out
	replace := func(start, end int, with []byte) {
		out = append(append(out, text[copied:start]...), with...)
		copied = end
	}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end := stringEnd(text, i)
			if masked, changed := maskString(text[i:end]); changed {
				replace(i, end, masked)
			}
			i = end
		case c == '-' || '0' <= c && c <= '9':
			end := numberEnd(text, i)
			if end-i == cpfDigits {
				if masked, changed := brazil.RedactCPFs(text[i:end]); changed {
					replace(i, end, []byte(`"`+string(masked)+`"`))
				}
			}
			i = end
		default:
			i++
		}
	}
	if copied == 0 {
		return text
	}
	return append(out, text[copied:]...)
}

// stringEnd returns the offset after the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// numberEnd returns the offset after the number that begins at i.
func numberEnd(text []byte, i int) int {
	rest := bytes.TrimLeft(text[i:], "0123456789.eE+-")
	return len(text) - len(rest)
}

// maskString masks a JSON string with its quotes. It decodes escapes only if the decoded
// text has a CPF number.
func maskString(quoted []byte) (masked []byte, changed bool) {
	if !bytes.ContainsRune(quoted, '\\') {
		return brazil.RedactCPFs(quoted)
	}
	var plain string
	if err := json.Unmarshal(quoted, &plain); err != nil { // cannot happen: the text is valid
		return quoted, false
	}
	found, changed := brazil.RedactCPFs(plain)
	if !changed {
		return quoted, false
	}
	masked, err := json.Marshal(found)
	if err != nil { // cannot happen: every string marshals
		return quoted, false
	}
	return masked, true
}
