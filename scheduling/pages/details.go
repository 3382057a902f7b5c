package pages

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
	fieldTrap  = "website" // people do not see it, programs fill it in
	fieldKey   = "key"     // makes one booking of what is sent twice
	fieldStart = "start"
	fieldAgree = "marketing_consent"
	fieldProof = "altcha" // of work, which the script does
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
	Alert                        string       // why it cannot be booked; "" = nothing in the way
	Taken                        bool         // the time is: choose another
	Alternatives                 []slotOption
	AllTimes                     string // link
	Deposit                      bool
	Agreed                       bool   // to be written to now and then
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
func (v *visit) showDetails() (reply, error) {
	chosen, instead, err := v.requireChoice()
	if err != nil || instead != nil {
		return replyOrEmpty(instead), err
	}
	start, err := parseStart(v.query.Get(fieldStart))
	if err != nil {
		return reply{}, err
	}
	form := v.newForm(chosen, start)
	form.Key = uuid.NewString()
	return v.detailsPage(http.StatusOK, chosen, start, form), nil
}

func (v *visit) detailsPage(status int, chosen selection, start time.Time, form *bookingForm) reply {
	title := v.texts().YourDetails
	if form.Taken {
		title = v.texts().Taken
	}
	return reply{status: status, template: "details", title: title, step: 5, summary: v.newSummary(chosen, start), body: form}
}

// newForm returns the empty form for a slot.
func (v *visit) newForm(chosen selection, start time.Time) *bookingForm {
	offer, _ := chosen.offerTerms(v.org.Policy)
	service := chosen.service.ID.String()
	form := &bookingForm{
		Action: v.linkTo("details"), Service: service, Professional: chosen.parameter, Start: v.formatInstant(start),
		AllTimes: v.linkTo("time", "service", service, "professional", chosen.parameter, "date", booking.DateOf(start, v.org.Zone).String()),
		Deposit:  offer.DepositAmount > 0, Policy: v.appearance.CancellationPolicy, Terms: v.appearance.TermsURL, Privacy: v.appearance.PrivacyURL,
	}
	form.Name.Required, form.Phone.Required = true, v.org.Settings.RequireClientPhone
	form.Email.Required = v.org.Settings.RequireClientEmail || form.Deposit && v.publicBooking.DepositNeedsEmail()
	if v.org.Settings.ProofOfWork {
		challenge, err := json.Marshal(v.publicBooking.NewChallenge(v.org))
		if err != nil {
			v.host.Log.ErrorContext(v.ctx, "a challenge could not be written", "error", err)
		}
		form.Proof = string(challenge)
	}
	return form
}

// book books the posted form and redirects to the booking. The form's key makes a
// resubmission return the same booking.
func (v *visit) book() (reply, error) {
	for _, name := range []string{"service", "professional"} { // where the steps read them
		v.query.Set(name, v.form.Get(name))
	}
	chosen, instead, err := v.requireChoice()
	if err != nil || instead != nil {
		return replyOrEmpty(instead), err
	}
	start, err := parseStart(v.form.Get(fieldStart))
	if err != nil {
		return reply{}, err
	}
	key, err := uuid.Parse(v.form.Get(fieldKey))
	if err != nil {
		return reply{}, notOfferedError()
	}
	form := v.newForm(chosen, start)
	form.Key = key.String()
	form.Name.Value, form.Phone.Value, form.Email.Value = v.form.Get(fieldName), v.form.Get(fieldPhone), v.form.Get(fieldEmail)
	form.Notes.Value, form.Trap.Value = strings.ReplaceAll(v.form.Get(fieldNotes), "\r\n", "\n"), v.form.Get(fieldTrap)
	form.Agreed = v.form.Get(fieldAgree) != ""
	if form.Trap.Value != "" {
		v.markFieldErrors(form, []hub.FieldError{{Location: "body." + fieldTrap}})
		return v.detailsPage(http.StatusUnprocessableEntity, chosen, start, form), nil
	}
	booked, err := v.publicBooking.Book(v.ctx, v.org, booking.Request{
		Service: chosen.service.ID, Professional: selectedProfessional(chosen), Start: start, Name: form.Name.Value, Phone: form.Phone.Value, Email: form.Email.Value, Notes: form.Notes.Value,
		Consent: form.Agreed,
		Proof:   v.form.Get(fieldProof),
	}, &store.IdempotencyKey{Operation: "page.book", Key: form.Key, RequestHash: []byte("page")})
	if err != nil {
		return v.bookFailurePage(err, chosen, start, form)
	}
	return redirect(v.linkTo("done", "token", booked.Token)), nil
}

// bookFailurePage returns the form with the reason and the submitted values.
func (v *visit) bookFailurePage(err error, chosen selection, start time.Time, form *bookingForm) (reply, error) {
	texts := v.texts()
	if slots, taken := takenAlternatives(err); taken {
		form.Taken = true
		for _, slot := range slots {
			form.Alternatives = append(form.Alternatives, slotOption{Time: capitalize(v.formatDateTime(slot.Start)), At: v.formatInstant(slot.Start)})
		}
		return v.detailsPage(http.StatusConflict, chosen, start, form), nil
	}
	var apiErr *hub.Error
	if !errors.As(err, &apiErr) {
		return reply{}, err
	}
	switch {
	case apiErr.Code == "booking_disabled": // since the page was asked for
		return v.closedPage(true), nil
	case apiErr.Code == "too_many_bookings":
		form.Alert = texts.TooMany
		return v.detailsPage(http.StatusConflict, chosen, start, form), nil
	case apiErr.Code == "booking_refused":
		form.Alert = texts.Refused
		return v.detailsPage(http.StatusForbidden, chosen, start, form), nil
	case apiErr.Code == provider.CodeNotConfigured, apiErr.Code == provider.CodeCurrency:
		form.Alert = texts.NoProvider
		return v.detailsPage(http.StatusConflict, chosen, start, form), nil
	case apiErr.Code == proofofwork.CodeRequired:
		form.Alert = texts.NeedsScript
		return v.detailsPage(http.StatusUnprocessableEntity, chosen, start, form), nil
	case apiErr.Code == store.ErrRequestInProgress.Code:
		form.Alert = texts.UnavailableHint
		return v.detailsPage(http.StatusConflict, chosen, start, form), nil
	case errors.Is(err, hub.ErrPeer), errors.Is(err, hub.ErrPeerTimeout): // nothing was booked, and the form can be sent again
		v.host.Log.WarnContext(v.ctx, "a deposit could not be asked for", "error", err)
		form.Alert = texts.NoCharge
		return v.detailsPage(http.StatusServiceUnavailable, chosen, start, form), nil
	case errors.Is(err, hub.ErrInvalid) && v.markFieldErrors(form, apiErr.Fields):
		return v.detailsPage(http.StatusUnprocessableEntity, chosen, start, form), nil
	}
	return reply{}, err
}

// markFieldErrors marks the invalid fields in order. It returns false if no error belongs
// to a field of the form.
func (v *visit) markFieldErrors(form *bookingForm, fields []hub.FieldError) bool {
	texts := v.texts()
	invalid := make(map[string]bool, len(fields))
	for _, fieldErr := range fields {
		invalid[fieldErr.Location] = true
	}
	for _, input := range []struct {
		location, id           string
		field                  *formField
		invalidText, emptyText string
	}{
		{"body.client_name", fieldName, &form.Name, texts.WrongName, texts.WrongName},
		{"body.client_phone", fieldPhone, &form.Phone, texts.WrongPhone, texts.NeedPhone},
		{"body.client_email", fieldEmail, &form.Email, texts.WrongEmail, texts.NeedEmail},
		{"body.notes", fieldNotes, &form.Notes, texts.WrongNotes, texts.WrongNotes},
		{"body." + fieldTrap, fieldTrap, &form.Trap, texts.LeaveEmpty, texts.LeaveEmpty},
	} {
		if !invalid[input.location] {
			continue
		}
		if input.field.Error = input.invalidText; strings.TrimSpace(input.field.Value) == "" {
			input.field.Error = input.emptyText
		}
		form.Errors = append(form.Errors, fieldError{input.id, input.field.Error})
	}
	form.Heading = pluralForm(texts.PleaseCheck, len(form.Errors))
	if len(form.Errors) > 1 {
		form.Heading = fmt.Sprintf(form.Heading, len(form.Errors))
	}
	return len(form.Errors) > 0
}
