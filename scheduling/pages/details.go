package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/proofofwork"
	"integrationhub/scheduling/internal/store"
)

// Names of the form's fields.
const (
	fieldName  = "name"
	fieldPhone = "phone"
	fieldEmail = "email"
	fieldNotes = "notes"
	fieldTrap  = "website" // hidden from people; bots fill it in
	fieldKey   = "key"     // identifies repeated submissions
	fieldStart = "start"
	fieldAgree = "marketing_consent"
	fieldProof = "altcha" // of work, solved by the script
)

// bookingForm is the template data of the booking form.
type bookingForm struct {
	Action                       string
	Service, Professional, Start string // hidden
	Key                          string
	Name, Phone, Email, Notes    formField
	Trap                         formField
	Errors                       []fieldError // in the order of the fields
	Heading                      string       // above the errors
	Alert                        string       // why it cannot be booked; "" = no obstacle
	Taken                        bool         // the time is taken: choose another
	Alternatives                 []slotOption
	AllTimes                     string // link
	Deposit                      bool
	Agreed                       bool   // consents to marketing
	Proof                        string // the challenge to be solved, as JSON; "" = none
	Policy, Terms, Privacy       string
}

// formField is a field with its submitted value.
type formField struct {
	Value, Error string
	Required     bool
}

// fieldError links an error to its field.
type fieldError struct{ ID, Text string }

// showDetails shows the empty booking form.
func (p *pageRequest) showDetails() (reply, error) {
	chosen, fallbackPage, err := p.requireChoice()
	if err != nil || fallbackPage != nil {
		return replyOrEmpty(fallbackPage), err
	}
	start, err := parseStart(p.query.Get(fieldStart))
	if err != nil {
		return reply{}, err
	}
	form := p.newForm(chosen, start)
	form.Key = uuid.NewString()
	return p.detailsPage(http.StatusOK, chosen, start, form), nil
}

func (p *pageRequest) detailsPage(status int, chosen selection, start time.Time, form *bookingForm) reply {
	title := p.messages().YourDetails
	if form.Taken {
		title = p.messages().Taken
	}
	return reply{status: status, template: "details", title: title, step: 5, summary: p.newSummary(chosen, start), body: form}
}

// newForm returns the empty form for a slot.
func (p *pageRequest) newForm(chosen selection, start time.Time) *bookingForm {
	offer, _ := chosen.offerTerms(p.org.Policy)
	service := chosen.service.ID.String()
	form := &bookingForm{
		Action: p.linkTo("details"), Service: service, Professional: chosen.parameter, Start: p.formatInstant(start),
		AllTimes: p.linkTo("time", "service", service, "professional", chosen.parameter, "date", booking.DateOf(start, p.org.Zone).String()),
		Deposit:  offer.DepositAmount > 0, Policy: p.appearance.CancellationPolicy, Terms: p.appearance.TermsURL, Privacy: p.appearance.PrivacyURL,
	}
	form.Name.Required, form.Phone.Required = true, p.org.Settings.RequireClientPhone
	form.Email.Required = p.org.Settings.RequireClientEmail || form.Deposit && p.publicBooking.DepositNeedsEmail()
	if p.org.Settings.ProofOfWork {
		challenge, err := json.Marshal(p.publicBooking.NewChallenge(p.org))
		if err != nil {
			p.host.Log.ErrorContext(p.ctx, "encoding a challenge failed", "error", err)
		}
		form.Proof = string(challenge)
	}
	return form
}

// book books the posted form and redirects to the booking. A resubmission of the same values
// returns the same booking; see [bookingForm.idempotencyKey].
func (p *pageRequest) book() (reply, error) {
	for _, name := range []string{"service", "professional"} { // where the steps read them
		p.query.Set(name, p.form.Get(name))
	}
	chosen, fallbackPage, err := p.requireChoice()
	if err != nil || fallbackPage != nil {
		return replyOrEmpty(fallbackPage), err
	}
	start, err := parseStart(p.form.Get(fieldStart))
	if err != nil {
		return reply{}, err
	}
	key, err := uuid.Parse(p.form.Get(fieldKey))
	if err != nil {
		return reply{}, notOfferedError()
	}
	form := p.newForm(chosen, start)
	form.Key = key.String()
	form.Name.Value, form.Phone.Value, form.Email.Value = p.form.Get(fieldName), p.form.Get(fieldPhone), p.form.Get(fieldEmail)
	form.Notes.Value, form.Trap.Value = strings.ReplaceAll(p.form.Get(fieldNotes), "\r\n", "\n"), p.form.Get(fieldTrap)
	form.Agreed = p.form.Get(fieldAgree) != ""
	if form.Trap.Value != "" {
		p.markFieldErrors(form, []hub.FieldError{{Location: "body." + fieldTrap}})
		return p.detailsPage(http.StatusUnprocessableEntity, chosen, start, form), nil
	}
	booked, err := p.publicBooking.BookOnline(p.ctx, p.org, booking.Request{
		Service: chosen.service.ID, Professional: selectedProfessional(chosen), Start: start, Name: form.Name.Value, Phone: form.Phone.Value, Email: form.Email.Value, Notes: form.Notes.Value,
		Consent: form.Agreed, Locale: p.lang.tag,
		Proof: p.form.Get(fieldProof),
	}, &store.IdempotencyKey{Operation: "page.book", Key: form.idempotencyKey(), RequestHash: []byte("page")})
	if err != nil {
		return p.bookFailurePage(err, chosen, start, form)
	}
	return redirect(p.linkTo("done", "token", booked.Token)), nil
}

// idempotencyKey identifies what the form books: its key and all that was chosen and typed. A
// browser's back button shows the same form again, and another person may fill it in.
func (f *bookingForm) idempotencyKey() string {
	sum := sha256.New()
	for _, value := range []string{f.Service, f.Professional, f.Start, f.Name.Value, f.Phone.Value, f.Email.Value, f.Notes.Value, strconv.FormatBool(f.Agreed)} {
		fmt.Fprintf(sum, "%q ", strings.TrimSpace(value))
	}
	return f.Key + " " + hex.EncodeToString(sum.Sum(nil))
}

// bookFailurePage returns the form with the reason and the submitted values.
func (p *pageRequest) bookFailurePage(err error, chosen selection, start time.Time, form *bookingForm) (reply, error) {
	text := p.messages()
	if slots, isTaken := takenAlternatives(err); isTaken {
		form.Taken = true
		for _, slot := range slots {
			form.Alternatives = append(form.Alternatives, p.newSlotOption(slot.Start, ""))
		}
		return p.detailsPage(http.StatusConflict, chosen, start, form), nil
	}
	var apiErr *hub.Error
	if !errors.As(err, &apiErr) {
		return reply{}, err
	}
	switch {
	case apiErr.Code == "booking_disabled": // since the page was asked for
		return p.closedPage(true), nil
	case apiErr.Code == "too_many_bookings":
		form.Alert = text.TooMany
		return p.detailsPage(http.StatusConflict, chosen, start, form), nil
	case apiErr.Code == "booking_refused":
		form.Alert = text.Refused
		return p.detailsPage(http.StatusForbidden, chosen, start, form), nil
	case apiErr.Code == provider.CodeNotConfigured, apiErr.Code == provider.CodeCurrency:
		form.Alert = text.NoProvider
		return p.detailsPage(http.StatusConflict, chosen, start, form), nil
	case apiErr.Code == proofofwork.CodeRequired:
		form.Alert = text.NeedsScript
		return p.detailsPage(http.StatusUnprocessableEntity, chosen, start, form), nil
	case apiErr.Code == store.ErrRequestInProgress.Code:
		form.Alert = text.UnavailableHint
		return p.detailsPage(http.StatusConflict, chosen, start, form), nil
	case errors.Is(err, hub.ErrPeer), errors.Is(err, hub.ErrPeerTimeout): // nothing was booked, and the form can be sent again
		p.host.Log.WarnContext(p.ctx, "creating the deposit charge failed", "error", err)
		form.Alert = text.NoCharge
		return p.detailsPage(http.StatusServiceUnavailable, chosen, start, form), nil
	case errors.Is(err, hub.ErrInvalid) && p.markFieldErrors(form, apiErr.Fields):
		return p.detailsPage(http.StatusUnprocessableEntity, chosen, start, form), nil
	}
	return reply{}, err
}

// markFieldErrors marks the invalid fields in order. It returns false if no error belongs
// to a field of the form.
func (p *pageRequest) markFieldErrors(form *bookingForm, fields []hub.FieldError) bool {
	text := p.messages()
	invalid := make(map[string]bool, len(fields))
	for _, fieldErr := range fields {
		invalid[fieldErr.Location] = true
	}
	for _, input := range []struct {
		location, id           string
		field                  *formField
		invalidText, emptyText string
	}{
		{"body.client_name", fieldName, &form.Name, text.WrongName, text.WrongName},
		{"body.client_phone", fieldPhone, &form.Phone, text.WrongPhone, text.NeedPhone},
		{"body.client_email", fieldEmail, &form.Email, text.WrongEmail, text.NeedEmail},
		{"body.notes", fieldNotes, &form.Notes, text.WrongNotes, text.WrongNotes},
		{"body." + fieldTrap, fieldTrap, &form.Trap, text.LeaveEmpty, text.LeaveEmpty},
	} {
		if !invalid[input.location] {
			continue
		}
		if input.field.Error = input.invalidText; strings.TrimSpace(input.field.Value) == "" {
			input.field.Error = input.emptyText
		}
		form.Errors = append(form.Errors, fieldError{input.id, input.field.Error})
	}
	form.Heading = pluralForm(text.PleaseCheck, len(form.Errors))
	if len(form.Errors) > 1 {
		form.Heading = fmt.Sprintf(form.Heading, len(form.Errors))
	}
	return len(form.Errors) > 0
}
