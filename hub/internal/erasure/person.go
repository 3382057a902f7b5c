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
	"integrationhub/hub/internal/subject"
	"integrationhub/hub/module"
	"integrationhub/hub/module/brazil"
)

// person identifies a deleted person, by the deletion event and by what its publisher
// stored besides.
type person struct {
	ids          [][]byte        // as products write them
	emails       [][]byte        // lower case
	sharedEmails [][]byte        // that another person has too
	phones       map[string]bool // digits, in every form they may have been stored in
	sharedPhones map[string]bool // that another person has too
	names        []string        // normalized
	events       map[int64]bool  // ids of events about the person
	isEveryone   bool            // every event and every text counts: the tenant was deleted
}

// Members of a deletion event's data that identify the person. Others may be about
// another party, such as the clinic.
var (
	idMembers    = []string{"patient_id", "client_id", "contact_id"}
	emailMembers = []string{"email", "patient_email", "client_email", "contact_email"}
	phoneMembers = []string{"phone", "patient_phone", "client_phone", "contact_phone"}
	nameMembers  = []string{"name", "patient_name", "client_name", "contact_name"}
)

// Members that list a person's other numbers and earlier names.
const (
	phonesMember = "phones"
	namesMember  = "names"
)

// The longer an id, the surer it is the person's. "42" is something else in most payloads
// and counts only as the value of an id member. Lengths are in bytes.
const (
	minWordID = 8  // matches wherever it stands as a word
	minLongID = 20 // matches inside a word too
)

// Bounds of phone numbers, in digits.
const (
	minPhoneDigits = 8  // of a number that cannot be parsed
	maxPhoneDigits = 20 // of a number with the prefixes for dialling it from abroad
)

// readPerson parses a deletion event's payload. The payload of a peer with a format of its
// own may have no data member: then its own members are read.
func readPerson(body []byte) *person {
	p := &person{phones: make(map[string]bool), sharedPhones: make(map[string]bool), events: make(map[int64]bool)}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return p
	}
	var data map[string]json.RawMessage
	if json.Unmarshal(members["data"], &data) == nil && data != nil {
		members = data
	}
	for _, name := range idMembers {
		if id := scalar(members[name]); id != "" {
			p.ids = append(p.ids, []byte(id))
		}
	}
	emails := &p.emails
	if scalar(members["email_shared"]) == "true" {
		emails = &p.sharedEmails
	}
	for _, email := range scalars(members, emailMembers) {
		addEmail(emails, email)
	}
	phones := p.phones
	if scalar(members["phone_shared"]) == "true" {
		phones = p.sharedPhones
	}
	for _, phone := range scalars(members, phoneMembers) {
		addPhone(phones, phone)
	}
	var otherPhones []json.RawMessage
	if json.Unmarshal(members[phonesMember], &otherPhones) == nil {
		for _, phone := range otherPhones {
			addPhone(p.phones, scalar(phone))
		}
	}
	for _, name := range scalars(members, nameMembers) {
		p.addName(name)
	}
	var earlierNames []json.RawMessage
	if json.Unmarshal(members[namesMember], &earlierNames) == nil {
		for _, name := range earlierNames {
			p.addName(scalar(name))
		}
	}
	return p
}

// scalar returns the text of a JSON string, number or true, "" for anything else.
func scalar(raw json.RawMessage) string {
	if string(raw) == "true" {
		return "true"
	}
	return subject.TextOf(raw)
}

// scalars returns the texts of the named members that have one.
func scalars(members map[string]json.RawMessage, names []string) (texts []string) {
	for _, name := range names {
		if text := scalar(members[name]); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// addTraces adds what the publisher of the deletion event stored besides.
func (p *person) addTraces(traces module.LogTraces) {
	for _, email := range traces.Emails {
		addEmail(&p.emails, email)
	}
	for _, phone := range traces.Phones {
		addPhone(p.phones, phone)
	}
	for _, contact := range traces.Shared {
		if strings.Contains(contact, "@") {
			addEmail(&p.sharedEmails, contact)
		} else {
			addPhone(p.sharedPhones, contact)
		}
	}
	p.emails = slices.DeleteFunc(p.emails, func(email []byte) bool {
		return slices.ContainsFunc(p.sharedEmails, func(shared []byte) bool { return bytes.Equal(email, shared) })
	})
	for form := range p.sharedPhones {
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

func addEmail(emails *[][]byte, text string) {
	if local, domain, ok := strings.Cut(strings.TrimSpace(text), "@"); ok && local != "" && domain != "" {
		*emails = append(*emails, []byte(strings.ToLower(local+"@"+domain)))
	}
}

func (p *person) addName(text string) {
	if name := normalizeName(text); name != "" {
		p.names = append(p.names, name)
	}
}

// addPhone adds the forms of a number. A Brazilian one has forms with and without the
// country code, and with and without a mobile's ninth digit.
func addPhone(phones map[string]bool, text string) {
	phone, err := lookup.Parse(strings.TrimSpace(text))
	if err != nil {
		if digits := digitsOf(text); len(digits) >= minPhoneDigits {
			phones[digits] = true
		}
		return
	}
	for _, form := range phone.Forms {
		digits := digitsOf(form)
		phones[digits] = true
		if national, ok := strings.CutPrefix(digits, "55"); ok {
			phones[national] = true
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

// isEmpty reports whether nothing identifies the person.
func (p *person) isEmpty() bool {
	return !p.isEveryone && len(p.ids) == 0 && len(p.emails) == 0 && len(p.sharedEmails) == 0 && len(p.phones) == 0 && len(p.sharedPhones) == 0 && len(p.events) == 0
}

// matches reports whether an event is about the person: its payload, correlation id or ordering
// key names them, or the publisher said so and nothing in it may belong to another person.
func (p *person) matches(event logEvent, body []byte) bool {
	if p.occursIn(body) || p.isInChosenID(event.correlation) || p.isInChosenID(event.orderingKey) {
		return true
	}
	return p.events[event.id] && !p.hasShared(decodeEscapes(body))
}

// hasShared reports whether a text contains a phone number or e-mail address that another
// person has too.
func (p *person) hasShared(text []byte) bool {
	return hasPhone(text, phoneTester(p.sharedPhones)) || slices.ContainsFunc(p.sharedEmails, func(email []byte) bool { return hasEmail(text, email) })
}

// isInChosenID is [person.occursIn] for an id that a publisher chose, such as a correlation id. There
// the person's own address may also stand behind another word, as in "order-ana@example.com".
func (p *person) isInChosenID(text string) bool {
	return text != "" && (p.occursIn([]byte(text)) || p.hasEmailAtWordEnd([]byte(text)))
}

// hasEmailAtWordEnd reports whether a chosen id contains an address that is the person's alone,
// also as the end of a longer local part.
func (p *person) hasEmailAtWordEnd(text []byte) bool {
	return slices.ContainsFunc(p.emails, func(email []byte) bool { return findEmail(text, email, isLetterOrDigitAt, isDomainAt) })
}

// occursIn reports whether a text of any format contains the person: the id or the e-mail
// address as a word, or the phone number however it is written. A shared number or address
// counts only together with the name. JSON may be truncated; its escapes are decoded.
func (p *person) occursIn(raw []byte) bool {
	if p.isEveryone {
		return true
	}
	text := decodeEscapes(raw)
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
	return hasPhone(text, phoneTester(p.phones)) || p.hasShared(text) && p.isNamedIn(raw, text)
}

// phoneTester returns the test for the forms of some numbers; nil for none.
func phoneTester(phones map[string]bool) func(form []byte) bool {
	if len(phones) == 0 {
		return nil
	}
	return func(form []byte) bool { return phones[string(form)] }
}

func decodeEscapes(text []byte) []byte {
	if bytes.IndexByte(text, '\\') >= 0 {
		return unescapeJSON(text)
	}
	return text
}

// hasID reports whether a text contains an id; a short one must stand alone.
func hasID(text, id []byte) bool {
	for from := 0; ; {
		i := bytes.Index(text[from:], id)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(id)
		if len(id) >= minLongID {
			return true
		}
		if !isWordAt(text, start-1) && !isWordAt(text, end) && (len(id) >= minWordID || endsWithIDMember(text[:start])) {
			return true
		}
		from = start + 1
	}
}

// endsWithIDMember reports whether what follows a text is the value of an id member.
func endsWithIDMember(before []byte) bool {
	before = bytes.TrimSuffix(before, []byte(`"`))
	before = bytes.TrimRight(before, " \t\r\n")
	before, found := bytes.CutSuffix(before, []byte(":"))
	before = bytes.TrimRight(before, " \t\r\n")
	for _, name := range idMembers {
		if found && bytes.HasSuffix(before, []byte(`"`+name+`"`)) {
			return true
		}
	}
	return false
}

// isWordAt reports whether the byte at i belongs to a word or an id; i may be out of range.
func isWordAt(text []byte, i int) bool {
	return i >= 0 && i < len(text) && (isWordByte(text[i]) || text[i] == '-' || text[i] >= utf8.RuneSelf)
}

func isWordByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_'
}

// hasEmail reports whether a text contains an address, in any case and not as a part of a
// longer one.
func hasEmail(text, email []byte) bool {
	continuesBefore := func(text []byte, i int) bool {
		return isWordAt(text, i) || i >= 0 && bytes.IndexByte([]byte(".+%"), text[i]) >= 0
	}
	continuesAfter := func(text []byte, i int) bool {
		return isWordAt(text, i) || i < len(text) && text[i] == '.' && isWordAt(text, i+1)
	}
	return findEmail(text, email, continuesBefore, continuesAfter)
}

// findEmail reports whether a text contains an address in any case, where it continues neither
// at the byte before nor at the byte after; those may be out of range.
func findEmail(text, email []byte, continuesBefore, continuesAfter func(text []byte, i int) bool) bool {
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
		if !continuesBefore(text, start-1) && !continuesAfter(text, end) {
			return true
		}
	}
}

// isLetterOrDigitAt reports whether the byte at i is a letter or a digit.
func isLetterOrDigitAt(text []byte, i int) bool {
	return isWordAt(text, i) && text[i] != '-' && text[i] != '_'
}

// isDomainAt reports whether a domain goes on at i: a number behind a hyphen is none.
func isDomainAt(text []byte, i int) bool {
	if i < len(text) && (text[i] == '.' || text[i] == '-') {
		return isLetterOrDigitAt(text, i+1) && (text[i+1] < '0' || text[i+1] > '9')
	}
	return isLetterOrDigitAt(text, i)
}

// Digits of a phone number may stand in groups.
const (
	separators    = " ()+-./"
	maxSeparators = 3 // between two groups
)

// hasPhone reports whether whole groups of digits in a text make a number that is known; with
// nil none is.
func hasPhone(text []byte, isKnown func(form []byte) bool) bool {
	if isKnown == nil {
		return false
	}
	var digits []byte // of the groups so far that belong together
	var starts []int  // where in them groups begin
	groupEnd := -2    // where the last group ended in text
	isJoined := false // only separators since then
	for i := 0; i < len(text); {
		if text[i] < '0' || text[i] > '9' {
			isJoined = isJoined && i-groupEnd < maxSeparators && strings.IndexByte(separators, text[i]) >= 0
			i++
			continue
		}
		if bytes.HasPrefix(text[i:], []byte("0)")) && i > 0 && text[i-1] == '(' { // +44 (0)20: this zero is dialled only inside the country
			i++
			if isJoined {
				groupEnd = i
			}
			continue
		}
		if !isJoined {
			digits, starts = digits[:0], starts[:0]
		}
		starts = append(starts, len(digits))
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			digits = append(digits, text[i])
			i++
		}
		groupEnd, isJoined = i, true
		for len(digits)-starts[0] > maxPhoneDigits && len(starts) > 1 {
			starts = starts[1:]
		}
		for _, start := range starts {
			group := bytes.TrimLeft(digits[start:], "0") // as dialled from abroad
			if isKnown(group) || isKnown(digits[start:]) {
				return true
			}
			if len(group) < len(digits)-start || bytes.HasPrefix(group, []byte("550")) { // as dialled at home
				if number := brazil.FormatE164(string(digits[start:])); number != "" && isKnown([]byte(number[1:])) {
					return true
				}
			}
		}
	}
	return false
}

// unescapeJSON decodes JSON escapes anywhere in a text.
func unescapeJSON(text []byte) []byte {
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
