package erasure

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"integrationhub/hub"
	"integrationhub/hub/internal/lookup"
	"integrationhub/hub/module"
	"integrationhub/hub/module/brazil"
)

// person is who is to be forgotten, by what a deletion event says of them, and by what its
// publisher knows beside.
type person struct {
	ids    [][]byte        // as products have them
	emails [][]byte        // lowercase
	phones map[string]bool // digits, in every form they may have been kept in
	shared map[string]bool // the same, of numbers that somebody else has too
	family [][]byte        // addresses that somebody else has too, lowercase
	names  []string        // folded
	events map[int64]bool  // that were theirs
}

// Members of a deletion event's data that say who is meant. Any other may be about
// somebody else, such as the clinic.
var (
	idNames    = []string{"patient_id", "client_id", "contact_id"}
	emailNames = []string{"email", "patient_email", "client_email", "contact_email"}
	phoneNames = []string{"phone", "patient_phone", "client_phone", "contact_phone"}
	nameNames  = []string{"name", "patient_name", "client_name", "contact_name"}
)

// otherPhones is the member that lists the other numbers of a person.
const otherPhones = "phones"

// How long an id has to be, in bytes, to mean the person wherever it stands as a word,
// and even inside one. "42" is something else in most payloads, and counts only as the id
// of a patient, client or contact.
const (
	wordID = 8
	longID = 20
)

// Digits of phone numbers: how many one has to have that is none by the rules, and how
// many any can have, dialled from elsewhere.
const (
	phoneMin = 8
	phoneMax = 20
)

// readPerson reads a deletion event's payload. A peer with a form of its own may have no
// data in it: then its members are taken.
func readPerson(body []byte) *person {
	p := &person{phones: make(map[string]bool), shared: make(map[string]bool), events: make(map[int64]bool)}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return p
	}
	var data map[string]json.RawMessage
	if json.Unmarshal(members["data"], &data) == nil && data != nil {
		members = data
	}
	for _, name := range idNames {
		if id := scalar(members[name]); id != "" {
			p.ids = append(p.ids, []byte(id))
		}
	}
	emails := &p.emails
	if scalar(members["email_shared"]) == "true" {
		emails = &p.family
	}
	for _, email := range scalars(members, emailNames) {
		addEmail(emails, email)
	}
	to := p.phones
	if scalar(members["phone_shared"]) == "true" {
		to = p.shared
	}
	for _, phone := range scalars(members, phoneNames) {
		addPhone(to, phone)
	}
	var others []json.RawMessage // numbers
	if json.Unmarshal(members[otherPhones], &others) == nil {
		for _, phone := range others {
			addPhone(p.phones, scalar(phone))
		}
	}
	for _, name := range scalars(members, nameNames) {
		p.addName(name)
	}
	return p
}

// scalar is the text of a string or number; "" of anything else.
func scalar(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	if string(raw) == "true" {
		return "true"
	}
	return ""
}

// scalars are the texts of some members.
func scalars(members map[string]json.RawMessage, names []string) (texts []string) {
	for _, name := range names {
		if text := scalar(members[name]); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// know adds what the publisher of the event knows beside.
func (p *person) know(traces module.Traces) {
	for _, email := range traces.Emails {
		addEmail(&p.emails, email)
	}
	for _, phone := range traces.Phones {
		addPhone(p.phones, phone)
	}
	for _, contact := range traces.Shared {
		if strings.Contains(contact, "@") {
			addEmail(&p.family, contact)
		} else {
			addPhone(p.shared, contact)
		}
	}
	p.emails = slices.DeleteFunc(p.emails, func(email []byte) bool {
		return slices.ContainsFunc(p.family, func(shared []byte) bool { return bytes.Equal(email, shared) })
	})
	for form := range p.shared {
		delete(p.phones, form)
	}
	for _, name := range traces.Names {
		p.addName(name)
	}
	for _, id := range traces.Events {
		if bits, ok := hub.ParseEventID(id); ok {
			p.events[int64(bits)] = true
		}
	}
}

func addEmail(to *[][]byte, text string) {
	if local, domain, ok := strings.Cut(strings.TrimSpace(text), "@"); ok && local != "" && domain != "" {
		*to = append(*to, []byte(strings.ToLower(local+"@"+domain)))
	}
}

func (p *person) addName(text string) {
	if name := folded(text); name != "" {
		p.names = append(p.names, name)
	}
}

// addPhone adds a number with and without its country code, if that is Brazil's, and
// with and without a mobile's ninth digit.
func addPhone(to map[string]bool, text string) {
	phone, err := lookup.Parse(strings.TrimSpace(text))
	if err != nil {
		if digits := digitsOf(text); len(digits) >= phoneMin {
			to[digits] = true
		}
		return
	}
	for _, form := range phone.Forms {
		digits := digitsOf(form)
		to[digits] = true
		if national, ok := strings.CutPrefix(digits, "55"); ok {
			to[national] = true
		}
	}
}

func digitsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

// nobody tells whether the event names no one.
func (p *person) nobody() bool {
	return len(p.ids) == 0 && len(p.emails) == 0 && len(p.family) == 0 && len(p.phones) == 0 && len(p.shared) == 0 && len(p.events) == 0
}

// theirs tells whether an event is about the person: its payload says so, or it is known
// to be, and has nothing in it by which it may be about somebody else.
func (p *person) theirs(e event, body []byte) bool {
	if p.in(body) || p.inText(e.correlation) {
		return true
	}
	return p.events[e.id] && !p.common(unescaped(body))
}

// common tells whether a text has a number or an address in it by which it may be about
// somebody else too.
func (p *person) common(text []byte) bool {
	return hasPhone(text, p.shared) || slices.ContainsFunc(p.family, func(email []byte) bool { return hasEmail(text, email) })
}

// inText is [person.in] for a text.
func (p *person) inText(text string) bool { return text != "" && p.in([]byte(text)) }

// in tells whether a text, of whatever form, has the person in it: the id or the e-mail
// address as a word, or the phone number however it is written; what they share
// with others only together with the name. JSON need not be whole; its escapes are seen
// through.
func (p *person) in(raw []byte) bool {
	text := unescaped(raw)
	for _, id := range p.ids {
		if hasID(text, id) {
			return true
		}
	}
	for _, email := range p.emails {
		if hasEmail(text, email) {
			return true
		}
	}
	return hasPhone(text, p.phones) || p.common(text) && p.named(raw, text)
}

func unescaped(text []byte) []byte {
	if bytes.IndexByte(text, '\\') >= 0 {
		return unescape(text)
	}
	return text
}

// hasID looks for an id, that stands alone where it is short.
func hasID(text, id []byte) bool {
	for from := 0; ; {
		i := bytes.Index(text[from:], id)
		if i < 0 {
			return false
		}
		at, end := from+i, from+i+len(id)
		if len(id) >= longID {
			return true
		}
		if !wordAt(text, at-1) && !wordAt(text, end) && (len(id) >= wordID || isNamed(text[:at])) {
			return true
		}
		from = at + 1
	}
}

// isNamed tells whether what follows is the value of a member that has a person's id.
func isNamed(before []byte) bool {
	before = bytes.TrimSuffix(before, []byte(`"`))
	before = bytes.TrimRight(before, " \t\r\n")
	before, found := bytes.CutSuffix(before, []byte(":"))
	before = bytes.TrimRight(before, " \t\r\n")
	for _, name := range idNames {
		if found && bytes.HasSuffix(before, []byte(`"`+name+`"`)) {
			return true
		}
	}
	return false
}

// wordAt tells whether a byte belongs to a word or to an id; there is none outside.
func wordAt(text []byte, i int) bool {
	return i >= 0 && i < len(text) && (isWord(text[i]) || text[i] == '-' || text[i] >= utf8.RuneSelf)
}

func isWord(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_'
}

// hasEmail looks for an address, in whatever case, that is not a part of a longer one.
func hasEmail(text, email []byte) bool {
	local := bytes.IndexByte(email, '@')
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], '@')
		if i < 0 {
			return false
		}
		start, end := from+i-local, from+i-local+len(email)
		from += i + 1
		if start < 0 || end > len(text) || !bytes.EqualFold(text[start:end], email) {
			continue
		}
		before := wordAt(text, start-1) || start > 0 && bytes.IndexByte([]byte(".+%"), text[start-1]) >= 0
		after := wordAt(text, end) || end < len(text) && text[end] == '.' && wordAt(text, end+1)
		if !before && !after {
			return true
		}
	}
}

// Digits of a phone number may stand in groups.
const (
	separators    = " ()+-./"
	separatorsMax = 3 // between two groups
)

// hasPhone looks for digits that are one of the numbers, whole groups of them.
func hasPhone(text []byte, phones map[string]bool) bool {
	if len(phones) == 0 {
		return false
	}
	var digits []byte  // of the groups so far that belong together
	var starts []int   // where in them groups begin
	last := -2         // where the last group ended in text
	separated := false // by nothing but separators since
	for i := 0; i < len(text); {
		if text[i] < '0' || text[i] > '9' {
			separated = separated && i-last < separatorsMax && strings.IndexByte(separators, text[i]) >= 0
			i++
			continue
		}
		if bytes.HasPrefix(text[i:], []byte("0)")) && i > 0 && text[i-1] == '(' { // +44 (0)20: dialled only there
			i++
			if separated {
				last = i
			}
			continue
		}
		if !separated {
			digits, starts = digits[:0], starts[:0]
		}
		starts = append(starts, len(digits))
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			digits = append(digits, text[i])
			i++
		}
		last, separated = i, true
		for len(digits)-starts[0] > phoneMax && len(starts) > 1 {
			starts = starts[1:]
		}
		for _, start := range starts {
			group := bytes.TrimLeft(digits[start:], "0") // as dialled from elsewhere
			if phones[string(group)] || phones[string(digits[start:])] {
				return true
			}
			if len(group) < len(digits)-start || bytes.HasPrefix(group, []byte("550")) { // as dialled at home
				if number := brazil.FormatE164(string(digits[start:])); number != "" && phones[number[1:]] {
					return true
				}
			}
		}
	}
	return false
}

// unescape sees through the escapes of JSON, in whatever text they stand.
func unescape(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		i++
		if text[i] != 'u' || i+4 >= len(text) {
			switch text[i] {
			case 'b', 'f', 'n', 'r', 't':
				out = append(out, '\n')
			default:
				out = append(out, text[i])
			}
			continue
		}
		code, err := strconv.ParseUint(string(text[i+1:i+5]), 16, 32)
		if err != nil {
			out = append(out, text[i])
			continue
		}
		out = utf8.AppendRune(out, rune(code))
		i += 4
	}
	return out
}
