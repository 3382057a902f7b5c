// Package strictjson checks that JSON is read alike by every parser. It knows the rules for the
// bodies of requests and for the data of events.
package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"integrationhub/hub"
)

// Limits on JSON bodies.
const (
	maxDepth  = 64 // objects and arrays inside each other
	maxNumber = 32 // characters of a number literal
)

// Rules are the rules for bodies that differ between endpoints.
type Rules struct {
	UniqueKeys bool // refuse an object with a duplicate key, however it is escaped
}

// Check returns an error unless body is one JSON value that every parser reads the
// same way: the grammar of RFC 8259, valid UTF-8, no byte order mark, at most 64 levels
// deep, numbers of at most 32 characters, no escaped NUL, no half of a surrogate pair,
// nothing after the value. The error is a [hub.ErrMalformed] with a code for the rule
// and the byte offset of the violation. It never quotes the body.
func Check(body []byte, rules Rules) error {
	s := scanner{b: body, unique: rules.UniqueKeys}
	if !s.begin() || !s.value(0) || !s.end() {
		return s.err()
	}
	return nil
}

// VisitMembers is [Check] for a body that must be an object, and calls visit for each of
// its members in the same pass: the decoded key, and the value as it is in body without
// surrounding space. Neither may be changed; value is part of body, key is valid until
// visit returns. Members are visited before the rest of the body has been checked, so a
// non-nil error invalidates them all. An error of visit ends the visits and is returned,
// unless the rest of the body is malformed, which takes precedence. A JSON value that is
// not an object is a 422.
func VisitMembers(body []byte, rules Rules, visit func(key, value []byte) error) error {
	s := scanner{b: body, unique: rules.UniqueKeys}
	if !s.begin() {
		return s.err()
	}
	if body[s.i] != '{' {
		if !s.value(0) || !s.end() {
			return s.err()
		}
		return hub.Invalid("body", "must be a JSON object")
	}
	var refused error
	if !s.open('}') {
		for {
			keyStart, keyEnd, ok := s.key()
			valueStart := s.i
			if !ok || !s.value(1) {
				return s.err()
			}
			if refused == nil {
				refused = visit(decodeKey(body[keyStart:keyEnd]), body[valueStart:s.i:s.i])
			}
			if !s.comma() {
				break
			}
		}
		if !s.closeObject(0) {
			return s.err()
		}
	}
	if !s.end() {
		return s.err()
	}
	return refused
}

// violation is a violated rule; violations has its code and text.
type violation uint8

const (
	violationSyntax violation = iota
	violationEmpty
	violationBOM
	violationTrailing
	violationDepth
	violationUTF8
	violationNull
	violationSurrogate
	violationNumber
	violationDuplicate
)

var violations = [...]struct{ code, rule string }{
	violationSyntax:    {"json_syntax", "not valid JSON"},
	violationEmpty:     {"json_empty", "empty where JSON is needed"},
	violationBOM:       {"json_byte_order_mark", "not allowed to begin with a byte order mark"},
	violationTrailing:  {"json_trailing_data", "not allowed to go on after the JSON value"},
	violationDepth:     {"json_too_deep", "nested more than 64 levels deep"},
	violationUTF8:      {"json_invalid_utf8", "not valid UTF-8"},
	violationNull:      {"json_null_character", "not allowed to contain the NUL character"},
	violationSurrogate: {"json_lone_surrogate", "not allowed to contain half of a surrogate pair"},
	violationNumber:    {"json_number_too_long", "not allowed to have numbers of more than 32 characters"},
	violationDuplicate: {"json_duplicate_key", "not allowed to have the same key twice in one object"},
}

// scanner reads one JSON value from left to right. Its methods return false once a rule
// is violated; violation and violationOffset are set then.
type scanner struct {
	b               []byte
	i               int // offset of the next byte
	violation       violation
	violationOffset int

	unique bool
	keys   openKeys // used where unique is set
}

func (s *scanner) fail(violated violation, offset int) bool {
	s.violation, s.violationOffset = violated, offset
	return false
}

func (s *scanner) err() error {
	broken := &violations[s.violation]
	return hub.Errorf(hub.ErrMalformed, broken.code, "The body is %s (byte %d).", broken.rule, s.violationOffset)
}

// begin advances to the first byte of the value.
func (s *scanner) begin() bool {
	s.space()
	if s.i >= len(s.b) {
		return s.fail(violationEmpty, s.i)
	}
	if len(s.b) >= 3 && string(s.b[:3]) == "\xef\xbb\xbf" {
		return s.fail(violationBOM, 0)
	}
	return true
}

// end checks that nothing follows the value.
func (s *scanner) end() bool {
	s.space()
	if s.i < len(s.b) {
		return s.fail(violationTrailing, s.i)
	}
	return true
}

// value reads a value inside depth objects and arrays; the next byte is its first.
func (s *scanner) value(depth int) bool {
	if s.i >= len(s.b) {
		return s.fail(violationSyntax, s.i)
	}
	switch s.b[s.i] {
	case '"':
		return s.text()
	case '{':
		return s.object(depth + 1)
	case '[':
		return s.array(depth + 1)
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

// object reads an object that is the depth-th level.
func (s *scanner) object(depth int) bool {
	if depth > maxDepth {
		return s.fail(violationDepth, s.i)
	}
	if s.open('}') {
		return true
	}
	first := s.keys.n
	for {
		if _, _, ok := s.key(); !ok || !s.value(depth) {
			return false
		}
		if !s.comma() {
			return s.closeObject(first)
		}
	}
}

// array reads an array that is the depth-th level.
func (s *scanner) array(depth int) bool {
	if depth > maxDepth {
		return s.fail(violationDepth, s.i)
	}
	if s.open(']') {
		return true
	}
	for {
		s.space()
		if !s.value(depth) {
			return false
		}
		if !s.comma() {
			return s.next(']') || s.fail(violationSyntax, s.i)
		}
	}
}

// open reads the opening byte of an object or array. If it is empty, it also reads the
// closing byte and returns true.
func (s *scanner) open(closing byte) (empty bool) {
	s.i++
	s.space()
	return s.next(closing)
}

// key reads a key and its colon, up to the value. It returns the offsets between the
// key's quotes.
func (s *scanner) key() (start, end int, ok bool) {
	s.space()
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		return 0, 0, s.fail(violationSyntax, s.i)
	}
	start = s.i + 1
	if !s.text() {
		return 0, 0, false
	}
	end = s.i - 1
	if s.unique {
		s.pushKey(start, end)
	}
	s.space()
	if !s.next(':') {
		return 0, 0, s.fail(violationSyntax, s.i)
	}
	s.space()
	return start, end, true
}

// comma skips white space and reads a comma if it is next.
func (s *scanner) comma() bool {
	s.space()
	return s.next(',')
}

// closeObject reads the end of an object whose keys begin at index first.
func (s *scanner) closeObject(first int) bool {
	if !s.next('}') {
		return s.fail(violationSyntax, s.i)
	}
	return !s.unique || s.popDistinctKeys(first)
}

// next reads the next byte if it is c.
func (s *scanner) next(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) space() {
	for s.i < len(s.b) && classes[s.b[s.i]] == classSpace {
		s.i++
	}
}

func (s *scanner) literal(word string) bool {
	if end := s.i + len(word); end <= len(s.b) && string(s.b[s.i:end]) == word {
		s.i = end
		return true
	}
	return s.fail(violationSyntax, s.i)
}

// Classes of bytes.
const (
	classPlain   = iota // stands for itself in a string
	classSpace          // white space; only the blank is also allowed in a string
	classDigit          // stands for itself in a string, too
	classEscape         // backslash
	classQuote          // ends a string
	classControl        // not allowed anywhere
	classWide           // part of a character of more than one byte
)

var classes = func() (table [256]uint8) {
	for c := range table {
		switch {
		case c == '\t' || c == '\n' || c == '\r' || c == ' ':
			table[c] = classSpace
		case c < 0x20:
			table[c] = classControl
		case '0' <= c && c <= '9':
			table[c] = classDigit
		case c == '\\':
			table[c] = classEscape
		case c == '"':
			table[c] = classQuote
		case c >= utf8.RuneSelf:
			table[c] = classWide
		}
	}
	return table
}()

// text reads a string; the next byte is its opening quote.
func (s *scanner) text() bool {
	i, b := s.i+1, s.b
	for {
		i = skipPlain(b, i)
		if i >= len(b) {
			return s.fail(violationSyntax, len(b))
		}
		switch c := b[i]; classes[c] {
		case classQuote:
			s.i = i + 1
			return true
		case classEscape:
			n := s.escape(i)
			if n == 0 {
				return false
			}
			i += n
		case classWide:
			r, size := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && size == 1 {
				return s.fail(violationUTF8, i)
			}
			i += size
		default: // control characters, the three white space ones included
			return s.fail(violationSyntax, i)
		}
	}
}

// skipPlain returns the offset, from i on, of the next byte with a meaning of its own in
// a string: a quote, a backslash, a control character or a byte above ASCII. It tests
// eight bytes at a time: each of the four terms sets the high bit of bytes of its kind.
// Borrows only spoil bytes after the first hit, and only the first hit is used.
func skipPlain(b []byte, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^('"'*ones), x^('\\'*ones)
		hits := (x | (x-0x20*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if hits != 0 {
			return i + bits.TrailingZeros64(hits)>>3
		}
		i += 8
	}
	for i < len(b) {
		if c := b[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return i
		}
		i++
	}
	return i
}

// escape reads an escape sequence at i and returns its length, 0 if it is refused.
func (s *scanner) escape(i int) int {
	if i+1 >= len(s.b) {
		s.fail(violationSyntax, len(s.b))
		return 0
	}
	switch s.b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		return s.unicodeEscape(i)
	}
	s.fail(violationSyntax, i+1)
	return 0
}

// unicodeEscape reads \uXXXX, or the two of a surrogate pair.
func (s *scanner) unicodeEscape(i int) int {
	unit, ok := hex4(s.b, i+2)
	switch {
	case !ok:
		s.fail(violationSyntax, i)
		return 0
	case unit == 0:
		s.fail(violationNull, i)
		return 0
	case unit < 0xd800 || unit > 0xdfff:
		return 6
	}
	if unit < 0xdc00 && i+7 < len(s.b) && s.b[i+6] == '\\' && s.b[i+7] == 'u' {
		if low, ok := hex4(s.b, i+8); ok && 0xdc00 <= low && low <= 0xdfff {
			return 12
		}
	}
	s.fail(violationSurrogate, i)
	return 0
}

// hex4 reads four hex digits at i.
func hex4(b []byte, i int) (unit uint32, ok bool) {
	if i+4 > len(b) {
		return 0, false
	}
	for _, c := range b[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | uint32(c)
	}
	return unit, true
}

// number reads a number; the next byte is its first.
func (s *scanner) number() bool {
	start := s.i
	s.next('-')
	if !s.next('0') && !s.digits() {
		return s.fail(violationSyntax, s.i)
	}
	if s.next('.') && !s.digits() {
		return s.fail(violationSyntax, s.i)
	}
	if s.next('e') || s.next('E') {
		if !s.next('+') {
			s.next('-')
		}
		if !s.digits() {
			return s.fail(violationSyntax, s.i)
		}
	}
	if s.i-start > maxNumber {
		return s.fail(violationNumber, start)
	}
	return true
}

// digits reads one digit or more.
func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && classes[s.b[s.i]] == classDigit {
		s.i++
	}
	return s.i > start
}
