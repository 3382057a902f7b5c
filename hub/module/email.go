package module

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Mailer sends mail.
type Mailer interface {
	// Send takes a mail in the caller's transaction: once that has committed it is
	// sent, tried again for a day where the server does not take it, and then given
	// up with a line in the log. It may arrive twice. [hub.ErrInvalid] for an
	// address that is none, [hub.ErrTooLarge].
	Send(ctx context.Context, tx pgx.Tx, m Email) error
	// EraseSubject drops what the product has waiting or kept of a tenant with this About, in
	// the caller's transaction: for people who asked to be forgotten. Other mail to the
	// same address stays, such as a user's own.
	EraseSubject(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, about string) error
}

// Email is a message to one person.
type Email struct {
	TenantID    uuid.UUID // whose it is
	To          string    // one address, nothing else
	FromName    string    // put to the hub's own address as the sender's name; "" = the hub's
	ReplyTo     string    // an address, or ""
	Subject     string    // line breaks become spaces; cut at 200 characters
	Text        string    // plain text, at most 1 MiB
	HTML        string    // the same for programs that show it with form, at most 1 MiB; "" = none
	Attachments []Attachment
	SubjectID   string // whom it tells of, such as a client's id: see [Mailer]'s Forget; "" = nobody who can ask for that
	Unsubscribe string // address at which a POST ends a list for who gets it (RFC 8058); "" = it is of no list
}

// Attachment is a file that comes with a mail; all of a mail's have 1 MiB at most.
type Attachment struct {
	Name    string // "appointment.ics"
	Type    string // "text/calendar; method=REQUEST; charset=utf-8"
	Content []byte
}
