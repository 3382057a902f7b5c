package publicbooking

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/store"
)

// ManageURL returns the page on which a client changes a booking.
func (s *Service) ManageURL(org store.Org, token string) string {
	return s.host.URLs.Public + "/book/" + org.Slug + "/cancel?token=" + url.QueryEscape(token)
}

// BookingToken returns the token with which a client changes an appointment. It is
// derived from the id, so later e-mails contain the same link.
func (s *Service) BookingToken(id uuid.UUID, version int) string {
	mac := hmac.New(sha256.New, s.host.Sealer.Derive("client link"))
	mac.Write(id[:])
	mac.Write([]byte(strconv.Itoa(version)))
	return base64.RawURLEncoding.EncodeToString(append(id[:], mac.Sum(nil)...))
}

// appointmentByToken loads the appointment a client's token belongs to.
func (s *Service) appointmentByToken(ctx context.Context, org store.Org, token string) (store.AppointmentDetail, error) {
	notFound := hub.Errorf(hub.ErrNotFound, "invalid_token", "Invalid cancel token")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != 16+sha256.Size {
		return store.AppointmentDetail{}, notFound
	}
	appointment, err := s.store.AppointmentByID(ctx, org.ID, uuid.UUID(raw[:16]))
	if errors.Is(err, pgx.ErrNoRows) {
		return appointment, notFound
	}
	if err == nil && !hmac.Equal([]byte(s.BookingToken(appointment.ID, appointment.TokenVersion)), []byte(token)) {
		return store.AppointmentDetail{}, notFound
	}
	return appointment, err
}
