package lookup

import (
	"regexp"
	"strings"

	"integrationhub/hub"
	"integrationhub/hub/module/brazil"
)

// Query is what a person is looked up by: exactly one of Phone, Email and CPF.
type Query struct {
	Phone string // as people write it
	Email string
	CPF   string // its last two digits, alone or masked: 09, ***.***.***-09

	Location string // where the fields stand in the request: "query" or "body"
}

const (
	maxEmailLength = 254
	maxCPFLength   = 20
)

var (
	emailPattern  = regexp.MustCompile(`^[^\s@<>"]+@[^\s@<>"]+\.[^\s@<>"]+$`)
	cpfEndPattern = regexp.MustCompile(`^[*.•…xX\s-]*([0-9]{2})$`)
)

// target is what a query searches for.
type target struct {
	phone  Phone  // no forms: none
	email  string // lower case; "" = none
	cpfEnd string // two digits; "" = none
	words  []string
}

// parse validates a query. The error is a [hub.ErrInvalid] that does not repeat the value.
func (q Query) parse() (target, error) {
	count := 0
	for _, field := range []string{q.Phone, q.Email, q.CPF} {
		if field != "" {
			count++
		}
	}
	switch {
	case count != 1:
		return target{}, hub.Invalid(q.Location, "needs one of phone, email and cpf")
	case q.Phone != "":
		phone, err := Parse(q.Phone)
		if err != nil {
			return target{}, hub.Invalid(q.Location+".phone", PhoneRule)
		}
		return target{phone: phone, words: phone.Spellings}, nil
	case q.Email != "":
		email := strings.TrimSpace(q.Email)
		if len(email) > maxEmailLength || !emailPattern.MatchString(email) {
			return target{}, hub.Invalid(q.Location+".email", "must be an e-mail address, such as ana@example.com")
		}
		words := []string{email}
		if lower := strings.ToLower(email); lower != email {
			words = append(words, lower)
		}
		return target{email: strings.ToLower(email), words: words}, nil
	default:
		found := cpfEndPattern.FindStringSubmatch(q.CPF)
		if found == nil || len(q.CPF) > maxCPFLength {
			return target{}, hub.Invalid(q.Location+".cpf", "must be the last two digits, such as 09 or ***.***.***-09: whole numbers are not looked up")
		}
		return target{cpfEnd: found[1]}, nil
	}
}

// shortName keeps the first name and the initials of the others: most people found by two
// digits are not the one who was looked for.
func shortName(name string) string {
	words := strings.Fields(name)
	for i, word := range words {
		if i > 0 {
			words[i] = string([]rune(word)[:1]) + "."
		}
	}
	return strings.Join(words, " ")
}

// masked returns a CPF with its last two digits; "" for "".
func masked(cpfEnd string) string {
	if cpfEnd == "" {
		return ""
	}
	return brazil.MaskCPF(cpfEnd)
}
