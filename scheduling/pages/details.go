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

// bookingForm is what a client types to book.
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

// formField is one field with what was typed.
type formField struct {
	Value, Error string
	Required     bool
}

// fieldError leads to a field.
type fieldError struct{ ID, Text string }

// showDetails asks who books.
func (v *visit) showDetails() (reply, error) {
	c, instead, err := v.requireChoice()
	if err != nil || instead != nil {
		return replyOrEmpty(instead), err
	}
	at, err := parseStart(v.query.Get(fieldStart))
	if err != nil {
		return reply{}, err
	}
	f := v.newForm(c, at)
	f.Key = uuid.NewString()
	return v.detailsPage(http.StatusOK, c, at, f), nil
}

func (v *visit) detailsPage(status int, c selection, at time.Time, f *bookingForm) reply {
	title := v.texts().YourDetails
	if f.Taken {
		title = v.texts().Taken
	}
	return reply{status: status, template: "details", title: title, step: 5, summary: v.newSummary(c, at), body: f}
}

// newForm is the empty form for a slot.
func (v *visit) newForm(c selection, at time.Time) *bookingForm {
	offer, _ := c.offerTerms(v.org.Policy)
	service := c.service.ID.String()
	f := &bookingForm{
		Action: v.linkTo("details"), Service: service, Professional: c.parameter, Start: v.formatInstant(at),
		AllTimes: v.linkTo("time", "service", service, "professional", c.parameter, "date", booking.DateOf(at, v.org.Zone).String()),
		Deposit:  offer.DepositAmount > 0, Policy: v.appearance.CancellationPolicy, Terms: v.appearance.TermsURL, Privacy: v.appearance.PrivacyURL,
	}
	f.Name.Required, f.Phone.Required = true, v.org.Settings.RequireClientPhone
	f.Email.Required = v.org.Settings.RequireClientEmail || f.Deposit && v.publicBooking.DepositNeedsEmail()
	if v.org.Settings.ProofOfWork {
		challenge, err := json.Marshal(v.publicBooking.NewChallenge(v.org))
		if err != nil {
			v.host.Log.ErrorContext(v.ctx, "a challenge could not be written", "error", err)
		}
		f.Proof = string(challenge)
	}
	return f
}

// book books what was posted and goes on to what was booked. The same form sent again,
// by whatever way, is the same booking.
func (v *visit) book() (reply, error) {
	for _, name := range []string{"service", "professional"} { // where the steps read them
		v.query.Set(name, v.form.Get(name))
	}
	c, instead, err := v.requireChoice()
	if err != nil || instead != nil {
		return replyOrEmpty(instead), err
	}
	at, err := parseStart(v.form.Get(fieldStart))
	if err != nil {
		return reply{}, err
	}
	key, err := uuid.Parse(v.form.Get(fieldKey))
	if err != nil {
		return reply{}, notOfferedError()
	}
	f := v.newForm(c, at)
	f.Key = key.String()
	f.Name.Value, f.Phone.Value, f.Email.Value = v.form.Get(fieldName), v.form.Get(fieldPhone), v.form.Get(fieldEmail)
	f.Notes.Value, f.Trap.Value = strings.ReplaceAll(v.form.Get(fieldNotes), "\r\n", "\n"), v.form.Get(fieldTrap)
	f.Agreed = v.form.Get(fieldAgree) != ""
	if f.Trap.Value != "" {
		v.markFieldErrors(f, []hub.FieldError{{Location: "body." + fieldTrap}})
		return v.detailsPage(http.StatusUnprocessableEntity, c, at, f), nil
	}
	made, err := v.publicBooking.Book(v.ctx, v.org, booking.Request{
		Service: c.service.ID, Professional: selectedProfessional(c), Start: at, Name: f.Name.Value, Phone: f.Phone.Value, Email: f.Email.Value, Notes: f.Notes.Value,
		Consent: f.Agreed,
		Proof:   v.form.Get(fieldProof),
	}, &store.IdempotencyKey{Operation: "page.book", Key: f.Key, RequestHash: []byte("page")})
	if err != nil {
		return v.bookFailurePage(err, c, at, f)
	}
	return redirect(v.linkTo("done", "token", made.Token)), nil
}

// bookFailurePage shows why it could not be booked, with what was typed.
func (v *visit) bookFailurePage(err error, c selection, at time.Time, f *bookingForm) (reply, error) {
	t := v.texts()
	if slots, taken := takenAlternatives(err); taken {
		f.Taken = true
		for _, s := range slots {
			f.Alternatives = append(f.Alternatives, slotOption{Time: capitalize(v.formatDateTime(s.Start)), At: v.formatInstant(s.Start)})
		}
		return v.detailsPage(http.StatusConflict, c, at, f), nil
	}
	var told *hub.Error
	if !errors.As(err, &told) {
		return reply{}, err
	}
	switch {
	case told.Code == "booking_disabled": // since the page was asked for
		return v.closedPage(true), nil
	case told.Code == "too_many_bookings":
		f.Alert = t.TooMany
		return v.detailsPage(http.StatusConflict, c, at, f), nil
	case told.Code == "booking_refused":
		f.Alert = t.Refused
		return v.detailsPage(http.StatusForbidden, c, at, f), nil
	case told.Code == provider.CodeNotConfigured, told.Code == provider.CodeCurrency:
		f.Alert = t.NoProvider
		return v.detailsPage(http.StatusConflict, c, at, f), nil
	case told.Code == proofofwork.CodeRequired:
		f.Alert = t.NeedsScript
		return v.detailsPage(http.StatusUnprocessableEntity, c, at, f), nil
	case told.Code == store.ErrRequestInProgress.Code:
		f.Alert = t.UnavailableHint
		return v.detailsPage(http.StatusConflict, c, at, f), nil
	case errors.Is(err, hub.ErrPeer), errors.Is(err, hub.ErrPeerTimeout): // nothing was booked, and the form can be sent again
		v.host.Log.WarnContext(v.ctx, "a deposit could not be asked for", "error", err)
		f.Alert = t.NoCharge
		return v.detailsPage(http.StatusServiceUnavailable, c, at, f), nil
	case errors.Is(err, hub.ErrInvalid) && v.markFieldErrors(f, told.Fields):
		return v.detailsPage(http.StatusUnprocessableEntity, c, at, f), nil
	}
	return reply{}, err
}

// markFieldErrors notes what is wrong with the fields, in their order; false where that is
// nothing that was typed.
func (v *visit) markFieldErrors(f *bookingForm, fields []hub.FieldError) bool {
	t := v.texts()
	named := make(map[string]bool, len(fields))
	for _, one := range fields {
		named[one.Location] = true
	}
	for _, one := range []struct {
		location, id string
		field        *formField
		wrong, empty string
	}{
		{"body.client_name", fieldName, &f.Name, t.WrongName, t.WrongName},
		{"body.client_phone", fieldPhone, &f.Phone, t.WrongPhone, t.NeedPhone},
		{"body.client_email", fieldEmail, &f.Email, t.WrongEmail, t.NeedEmail},
		{"body.notes", fieldNotes, &f.Notes, t.WrongNotes, t.WrongNotes},
		{"body." + fieldTrap, fieldTrap, &f.Trap, t.LeaveEmpty, t.LeaveEmpty},
	} {
		if !named[one.location] {
			continue
		}
		if one.field.Error = one.wrong; strings.TrimSpace(one.field.Value) == "" {
			one.field.Error = one.empty
		}
		f.Errors = append(f.Errors, fieldError{one.id, one.field.Error})
	}
	f.Heading = pluralForm(t.PleaseCheck, len(f.Errors))
	if len(f.Errors) > 1 {
		f.Heading = fmt.Sprintf(f.Heading, len(f.Errors))
	}
	return len(f.Errors) > 0
}
