package module

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Mailer sends email.
type Mailer interface {
	// Send queues an email in the caller's transaction. After the commit it is sent, and
	// retried for a day; then it is given up and logged. It may arrive twice. It returns
	// [hub.ErrInvalid] for an invalid address and [hub.ErrTooLarge].
	Send(ctx context.Context, tx pgx.Tx, email Email) error
	// EraseSubject deletes a tenant's queued and kept emails with this SubjectID, in the
	// caller's transaction. Other emails to the same address stay.
	EraseSubject(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, subjectID string) error
}

// Email is a message to one person.
type Email struct {
	TenantID    uuid.UUID // the sending tenant
	To          string    // one address, nothing else
	FromName    string    // sender's name, with the hub's own address; "" = the hub's
	ReplyTo     string    // an address, or ""
	Subject     string    // line breaks become spaces; cut at 200 characters
	Text        string    // plain text, at most 1 MiB
	HTML        string    // HTML alternative of Text, at most 1 MiB; "" = none
	Attachments []Attachment
	SubjectID   string // id of the person it is about, such as a client: see EraseSubject of [Mailer]; "" = none
	Unsubscribe string // one-click unsubscribe URL (RFC 8058); "" = none
}

// Attachment is an attached file. All attachments of an email have at most 1 MiB.
type Attachment struct {
	Name    string // "appointment.ics"
	Type    string // "text/calendar; method=REQUEST; charset=utf-8"
	Content []byte
}
