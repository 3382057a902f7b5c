// Package subject computes by which terms events of the log are found: the phone numbers
// and the ids of persons, appointments and tickets that their data names. A term is a hash
// with the tenant and the environment in it, so that no search finds another tenant's
// events.
package subject

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/brazil"
)

// maxTerms bounds the terms of one event.
const maxTerms = 32

// Members of an event's data that identify a person. phones is a list of numbers.
var (
	phoneMembers = []string{"phone", "client_phone", "patient_phone", "contact_phone"}
	idMembers    = []string{"patient_id", "client_id", "contact_id", "appointment_id", "ticket_id"}
)

const phonesMember = "phones"

// contactMembers are the members that have the number of the person whom messaging's plain
// webhooks are about: digits with the country code.
type contactMembers struct {
	Number string `json:"number"`
}

// Scope is whose events terms find.
type Scope struct {
	TenantID    uuid.UUID
	Environment hub.Environment
}

// Phone returns the term of a phone number as people write it. A Brazilian mobile has the
// same one with its ninth digit and without. ok is false if the text is no phone number.
func (s Scope) Phone(number string) (term int64, ok bool) {
	e164 := brazil.FormatE164(number)
	if e164 == "" {
		return 0, false
	}
	return s.term("phone", brazil.PhoneKey(e164)), true
}

// ID returns the term of an id under the name of the member that has it, such as
// patient_id.
func (s Scope) ID(member, id string) int64 { return s.term(member, id) }

func (s Scope) term(kind, value string) int64 {
	hash := sha256.New()
	hash.Write(s.TenantID[:])
	for _, part := range []string{string(s.Environment), kind, value} {
		hash.Write([]byte(part))
		hash.Write([]byte{0})
	}
	return int64(binary.BigEndian.Uint64(hash.Sum(nil)))
}

// Terms returns the terms of an event with the given data, a JSON object; none if it is
// something else.
func (s Scope) Terms(data []byte) []int64 {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return nil
	}
	var terms []int64
	add := func(term int64, ok bool) {
		if ok && len(terms) < maxTerms && !slices.Contains(terms, term) {
			terms = append(terms, term)
		}
	}
	for _, member := range idMembers {
		if id := TextOf(members[member]); id != "" {
			add(s.ID(member, id), true)
		}
	}
	for _, member := range phoneMembers {
		add(s.Phone(TextOf(members[member])))
	}
	add(s.Phone(contactNumber(members)))
	var phones []json.RawMessage
	if json.Unmarshal(members[phonesMember], &phones) == nil {
		for _, phone := range phones {
			add(s.Phone(TextOf(phone)))
		}
	}
	return terms
}

// contactNumber returns the number of an event's contact, or of its ticket's, with a leading plus;
// "" if it has none.
func contactNumber(members map[string]json.RawMessage) string {
	var contact contactMembers
	if raw := members["contact"]; raw != nil {
		_ = json.Unmarshal(raw, &contact)
	} else if raw := members["ticket"]; raw != nil {
		var ticket struct {
			Contact contactMembers `json:"contact"`
		}
		_ = json.Unmarshal(raw, &ticket)
		contact = ticket.Contact
	}
	if contact.Number == "" {
		return ""
	}
	return "+" + strings.TrimPrefix(contact.Number, "+")
}

// TextOf returns the text of a JSON string or number, "" for anything else.
func TextOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	return ""
}

// Array returns terms as the text of a PostgreSQL array, "" if there are none.
func Array(terms []int64) string {
	if len(terms) == 0 {
		return ""
	}
	texts := make([]string, len(terms))
	for i, term := range terms {
		texts[i] = strconv.FormatInt(term, 10)
	}
	return "{" + strings.Join(texts, ",") + "}"
}
