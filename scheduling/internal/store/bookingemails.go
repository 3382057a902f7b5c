package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// How many e-mails about bookings on the public pages go to an address in [BookingEmailPeriod]:
// whoever books there can name anyone's.
const (
	maxBookingEmailsOfOrg = 10 // of an organization
	maxBookingEmailsOfHub = 30 // of all organizations

	BookingEmailPeriod = 24 * time.Hour
)

// AdmitBookingEmail decides whether a client is written to about a change of a booking, and marks
// the booking for staff where not. What the client does counts against the limits of the address.
// What follows by itself is left out where the e-mail before was. What staff or a connected product
// do is always mailed.
func (t *Tx) AdmitBookingEmail(ctx context.Context, appointment AppointmentDetail, by booking.ActorKind, address string) (admitted bool, err error) {
	switch by {
	case booking.ActorSystem:
		return !appointment.EmailsWithheld, nil
	case booking.ActorClient:
		if admitted, err = t.AdmitEmailToStranger(ctx, appointment.OrgID, address); err != nil {
			return false, err
		}
	default:
		admitted = true
	}
	return admitted, t.SetEmailsWithheld(ctx, dbgen.SetEmailsWithheldParams{Withheld: !admitted, OrgID: appointment.OrgID, ID: appointment.ID})
}

// AdmitEmailToStranger counts an e-mail to an address that someone without a login has typed. It
// returns false above the limits.
func (t *Tx) AdmitEmailToStranger(ctx context.Context, org uuid.UUID, address string) (bool, error) {
	mac := hmac.New(sha256.New, t.Host.Sealer.Derive("recipients of booking e-mails"))
	mac.Write([]byte(mailboxOf(address)))
	hash := mac.Sum(nil)
	if err := t.LockAdvisoryKeys(ctx, []string{"booking e-mails " + hex.EncodeToString(hash)}); err != nil {
		return false, err
	}
	sent, err := t.CountBookingEmails(ctx, dbgen.CountBookingEmailsParams{OrgID: org, RecipientHash: hash, Since: t.now.Add(-BookingEmailPeriod)})
	if err != nil || sent.OfOrg >= maxBookingEmailsOfOrg || sent.OfHub >= maxBookingEmailsOfHub {
		return false, err
	}
	return true, t.InsertBookingEmail(ctx, dbgen.InsertBookingEmailParams{OrgID: org, ID: NewID(), RecipientHash: hash, SentAt: t.now})
}

// mailboxOf returns what an address has in common with others of the same mailbox. Case and a tag
// after "+" choose no other, nor do the dots of Gmail.
func mailboxOf(address string) string {
	address = strings.ToLower(strings.TrimSpace(address))
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address
	}
	name, domain := address[:at], address[at+1:]
	if tagged := strings.IndexByte(name, '+'); tagged > 0 {
		name = name[:tagged]
	}
	if domain == "googlemail.com" {
		domain = "gmail.com"
	}
	if domain == "gmail.com" {
		name = strings.ReplaceAll(name, ".", "")
	}
	return name + "@" + domain
}
