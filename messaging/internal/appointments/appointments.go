// Package appointments calls the scheduling product that a company is connected with:
// services, free times, bookings, and answers to reminders.
package appointments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// product is the name of scheduling products.
const product = "scheduling"

// Service calls scheduling products.
type Service struct{ host module.Host }

// New returns the service of an opened product.
func New(host module.Host) *Service { return &Service{host} }

// ErrNotConnected is the error where a company has no working connection with a scheduling
// product.
var ErrNotConnected = hub.Errorf(hub.ErrMalformed, "no_scheduling_found", "The company is not connected with a scheduling product.")

// Errors of calls, beside those of [module.Peers].
var (
	ErrTimeTaken = hub.Errorf(hub.ErrMalformed, "slot_unavailable", "The time is not free any more: choose another one.")
	ErrTooLate   = errors.New("too late to change the appointment")
	ErrNotOpen   = errors.New("the appointment is not open any more, or there is none")
)

// Find returns the integration with the company's scheduling product, or [ErrNotConnected].
func (s *Service) Find(ctx context.Context, tenant uuid.UUID) (uuid.UUID, error) {
	integrations, err := s.host.Peers.List(ctx, tenant, hub.Live)
	if err != nil {
		return uuid.Nil, err
	}
	for _, integration := range integrations {
		if integration.Product == product && integration.Status == "active" {
			return integration.ID, nil
		}
	}
	return uuid.Nil, ErrNotConnected
}

// Offered is a service that can be booked.
type Offered struct {
	ID              string  `json:"id" maxLength:"200" doc:"As the scheduling product calls it"`
	Name            string  `json:"name" doc:"As clients read it" example:"Haircut"`
	DurationMinutes int     `json:"duration_minutes" doc:"How long it takes"`
	Price           float64 `json:"price" doc:"In the organization's currency"`
}

// Catalogue lists the services that can be booked.
type Catalogue struct {
	Services []Offered `json:"services"`
	Locale   string    `json:"locale"`
}

// Services returns the services that can be booked.
func (s *Service) Services(ctx context.Context, integration uuid.UUID) (Catalogue, error) {
	var response Catalogue
	return response, s.call(ctx, integration, hub.Call{Name: "search/services"}, &response)
}

// FreeTime is a time that can be booked.
type FreeTime struct {
	StartAt        time.Time `json:"start_at" doc:"With the organization's UTC offset"`
	EndAt          time.Time `json:"end_at" doc:"With the organization's UTC offset"`
	ProfessionalID string    `json:"professional_id" doc:"As the scheduling product calls it"`
	Professional   string    `json:"professional" doc:"Name" example:"Ana"`
}

// FreeTimes are the next free times of a service.
type FreeTimes struct {
	Service string     `json:"service"`
	Locale  string     `json:"locale"`
	Times   []FreeTime `json:"times"`
}

// FreeTimeQuery selects free times.
type FreeTimeQuery struct {
	ServiceID      string
	ProfessionalID string    // "" = anybody
	After          time.Time // zero: from now on
	Limit          int
}

// FreeTimes returns the next free times, the earliest first.
func (s *Service) FreeTimes(ctx context.Context, integration uuid.UUID, query FreeTimeQuery) (FreeTimes, error) {
	values := url.Values{"service_id": {query.ServiceID}, "limit": {strconv.Itoa(query.Limit)}}
	if query.ProfessionalID != "" {
		values.Set("professional_id", query.ProfessionalID)
	}
	if !query.After.IsZero() {
		values.Set("after", query.After.Format(time.RFC3339))
	}
	var response FreeTimes
	return response, s.call(ctx, integration, hub.Call{Name: "search/free-times", Query: values}, &response)
}

// Booking is an appointment to book. Repeating it with the same SourceID books once.
type Booking struct {
	Phone          string    `json:"phone"` // international, with a leading plus
	Name           string    `json:"name,omitempty"`
	ServiceID      string    `json:"service_id"`
	ProfessionalID string    `json:"professional_id,omitempty"`
	StartAt        time.Time `json:"start_at"`
	SourceID       string    `json:"source_id"`
}

// Booked is the scheduling product's response to a [Booking].
type Booked struct {
	AppointmentID string    `json:"appointment_id"`
	Status        string    `json:"status"`
	StartAt       time.Time `json:"start_at"`
	EndAt         time.Time `json:"end_at"`
	Service       string    `json:"service"`
	Professional  string    `json:"professional"`
	CancelURL     string    `json:"cancel_url"`
	Deposit       *Deposit  `json:"deposit"`
	Locale        string    `json:"locale"` // of the organization; "": the product does not send it
}

// Deposit is the amount that has to be paid by ExpiresAt to keep an appointment.
type Deposit struct {
	Amount       float64   `json:"amount"`
	PixCopyPaste *string   `json:"pix_copy_paste"`
	ExpiresAt    time.Time `json:"expires_at"`
}

// Book makes an appointment. A time that is taken is [ErrTimeTaken].
func (s *Service) Book(ctx context.Context, integration uuid.UUID, b Booking) (Booked, error) {
	var response Booked
	body, err := json.Marshal(b)
	if err == nil {
		err = s.call(ctx, integration, hub.Call{Name: "action/book", Body: body}, &response)
	}
	if codeOf(err) == "slot_unavailable" {
		err = ErrTimeTaken
	}
	return response, err
}

// AppointmentRef names an appointment and the client whose it is.
type AppointmentRef struct {
	AppointmentID string `json:"appointment_id"`
	Phone         string `json:"phone"` // international, with a leading plus
}

// Confirm confirms an appointment. Confirming twice is no error; [ErrNotOpen] and [ErrTooLate]
// are final.
func (s *Service) Confirm(ctx context.Context, integration uuid.UUID, appointment AppointmentRef) error {
	return s.change(ctx, integration, "action/confirm", appointment)
}

// Cancel cancels an appointment. Errors are those of [Service.Confirm].
func (s *Service) Cancel(ctx context.Context, integration uuid.UUID, appointment AppointmentRef) error {
	return s.change(ctx, integration, "action/cancel", appointment)
}

func (s *Service) change(ctx context.Context, integration uuid.UUID, action string, appointment AppointmentRef) error {
	body, err := json.Marshal(appointment)
	if err != nil {
		return fmt.Errorf("encoding a change of an appointment: %w", err)
	}
	err = s.call(ctx, integration, hub.Call{Name: action, Body: body}, nil)
	switch codeOf(err) {
	case "cancel_window_closed", "already_started":
		return ErrTooLate
	case "invalid_transition", "not_found":
		return ErrNotOpen
	}
	return err
}

func (s *Service) call(ctx context.Context, integration uuid.UUID, call hub.Call, response any) error {
	raw, err := s.host.Peers.Call(ctx, integration, call)
	if err != nil || response == nil {
		return err
	}
	if err := json.Unmarshal(raw, response); err != nil {
		return hub.Errorf(hub.ErrPeer, hub.CodePeerResponse, "The scheduling product did not respond with what was asked for.")
	}
	return nil
}

// codeOf returns the code of a peer's error, or "".
func codeOf(err error) string {
	var problem *hub.Error
	if errors.As(err, &problem) {
		return problem.Code
	}
	return ""
}

// IsTemporary reports whether a call that failed with this error may succeed later.
func IsTemporary(err error) bool {
	var status hub.PeerHTTPStatus
	switch {
	case errors.As(err, &status):
		return !status.Refused()
	case errors.Is(err, hub.ErrPeer), errors.Is(err, hub.ErrPeerTimeout), errors.Is(err, hub.ErrUnavailable):
		return true
	}
	var problem *hub.Error
	return !errors.As(err, &problem) && !errors.Is(err, ErrTooLate) && !errors.Is(err, ErrNotOpen) // an error of our own
}
