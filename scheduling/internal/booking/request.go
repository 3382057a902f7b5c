package booking

import (
	"net/mail"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/module/brazil"
	"integrationhub/hub/module/names"
)

// Request is a booking as a client asks for it.
type Request struct {
	Service      uuid.UUID
	Professional *uuid.UUID // nil: any who offers the service
	Start        time.Time
	Name         string
	Phone        string // "" = not given
	Email        string // "" = not given
	Notes        string
	Consent      bool      // consents to marketing
	Hold         uuid.UUID // the client's hold of the time; zero: none
	Proof        string    // of work, where the organization requires it
	Locale       string    // pt-BR, en or es: language of the client's mail; "" = the organization's
}

// RequiredFields says which fields an organization requires in a request.
type RequiredFields struct {
	Phone, Email bool
	PhoneOrEmail bool   // at least one of them: bookings are counted by it
	Professional bool   // a professional must be chosen
	AreaCode     string // of phone numbers without theirs, "" = they are refused
}

// Validate checks what a client typed. It trims it, and completes the phone number. The error is a [hub.Error] that
// names every field as the interface does: body.client_name.
func (r *Request) Validate(required RequiredFields) error {
	r.Name, r.Phone, r.Email = strings.TrimSpace(r.Name), strings.TrimSpace(r.Phone), strings.TrimSpace(r.Email)
	var errs fieldErrors
	name := len([]rune(r.Name))
	errs.check(name >= 2 && name <= 120 && names.HasVisible(r.Name), "client_name", "is too short or too long")
	errs.check(names.IsOneLine(r.Name), "client_name", "must be one line without control characters")
	errs.check(r.Phone != "" || !required.Phone && (r.Email != "" || !required.PhoneOrEmail), "client_phone", "is required")
	if r.Phone != "" {
		var ok bool
		r.Phone, ok = CompletePhone(r.Phone, required.AreaCode)
		errs.check(ok, "client_phone", PhoneProblem(r.Phone))
	}
	errs.check(r.Email != "" || !required.Email, "client_email", "is required")
	errs.check(r.Email == "" || ValidEmail(r.Email), "client_email", "must be an e-mail address")
	errs.check(len([]rune(r.Notes)) <= 500, "notes", "must have at most 500 characters")
	errs.check(r.Professional != nil || !required.Professional, "professional_id", "is required")
	return errs.err()
}

// isValidPhone reports whether a text has the digits of a phone number with its area code.
func isValidPhone(text string) bool {
	return len(PhoneForms(text)) > 0 && len(text) <= 40 && !brazil.LacksAreaCode(text)
}

// ValidEmail reports whether a text has the form of an e-mail address, and nothing else.
func ValidEmail(text string) bool {
	parsed, err := mail.ParseAddress(text)
	_, domain, _ := strings.Cut(text, "@")
	return err == nil && parsed.Address == text && len(text) <= 254 && strings.Contains(strings.Trim(domain, "."), ".")
}
