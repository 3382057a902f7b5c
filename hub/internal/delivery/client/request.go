package client

import (
	"strconv"
	"strings"
)

// Header is one request header. Names and values are sent as they stand.
type Header struct {
	Name  string
	Value string
}

// inlineBody is how much of a body is copied behind the header so that both
// leave in one write; what is over it leaves in a second one.
const inlineBody = 16 << 10

// appendRequest writes the request up to and including the empty line.
func appendRequest(dst []byte, t *Destination, fixed string, header []Header, bodyLen int) ([]byte, error) {
	dst = append(dst, t.start...)
	dst = append(dst, fixed...)
	for i := range header {
		h := &header[i]
		if reason := refuseHeader(h); reason != "" {
			return dst, &Error{Kind: KindRequest, text: string(stepSend) + ": " + reason}
		}
		dst = append(dst, h.Name...)
		dst = append(dst, ": "...)
		dst = append(dst, h.Value...)
		dst = append(dst, "\r\n"...)
	}
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(bodyLen), 10)
	return append(dst, "\r\n\r\n"...), nil
}

// refuseHeader returns why a header must not be sent, "" if it may.
func refuseHeader(h *Header) string {
	if !isToken(h.Name) {
		return "a header name is not a token"
	}
	if ownHeader(h.Name) {
		return "the header " + h.Name + " is set by the client"
	}
	for i := range len(h.Value) {
		if c := h.Value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return "the value of " + h.Name + " has a control character"
		}
	}
	return ""
}

// ownHeader reports whether a header decides framing or connection handling,
// which are the client's alone. The length is compared first: most names are
// dismissed by it.
func ownHeader(name string) bool {
	switch len(name) {
	case 2:
		return strings.EqualFold(name, "TE")
	case 4:
		return strings.EqualFold(name, "Host")
	case 6:
		return strings.EqualFold(name, "Expect")
	case 7:
		return strings.EqualFold(name, "Trailer") || strings.EqualFold(name, "Upgrade")
	case 10:
		return strings.EqualFold(name, "Connection") || strings.EqualFold(name, "User-Agent")
	case 14:
		return strings.EqualFold(name, "Content-Length")
	case 15:
		return strings.EqualFold(name, "Accept-Encoding")
	case 17:
		return strings.EqualFold(name, "Transfer-Encoding")
	}
	return false
}

// tokenByte marks the bytes of an RFC 9110 token.
var tokenByte = func() (table [256]bool) {
	for c := '0'; c <= 'z'; c++ {
		table[c] = c <= '9' || c >= 'a' || c >= 'A' && c <= 'Z'
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		table[c] = true
	}
	return table
}()

func isToken[S string | []byte](name S) bool {
	for i := range len(name) {
		if !tokenByte[name[i]] {
			return false
		}
	}
	return len(name) > 0
}
