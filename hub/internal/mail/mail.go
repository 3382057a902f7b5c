// Package mail sends emails. An email is a row that a product writes in its own
// transaction. A background worker hands it to the SMTP server and retries for a day. In
// development the rows are kept, so that developers can read them.
package mail

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	netmail "net/mail"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

// Config holds the settings of an [Outbox].
type Config struct {
	DB     *pgxpool.Pool
	Server *Server         // nil = none: emails wait for one, or stay in the outbox if Keep is set
	From   netmail.Address // sender of every email; products may set another name
	Keep   bool            // sent and failed emails are kept for a week, to be read: development
	Log    *slog.Logger
	TLS    *tls.Config                                                          // nil = the machine's certificate authorities
	Dial   func(ctx context.Context, network, address string) (net.Conn, error) // nil = net.Dialer; not used for smtps
}

// Outbox stores and sends emails. It is safe for concurrent use.
type Outbox struct {
	config       Config
	countSettled func(status string)
	breakers     map[string]time.Time // tenants whose mail broke the connection, and when; of the worker
}

// New returns an outbox; [Outbox.Run] sends its emails.
func New(c Config) *Outbox {
	return &Outbox{config: c, countSettled: func(string) {}, breakers: make(map[string]time.Time)}
}

// CountSettledWith has count called for each email that was sent or given up, with
// [StatusSent] or [StatusFailed]. It is called before [Outbox.Run].
func (o *Outbox) CountSettledWith(count func(status string)) *Outbox {
	o.countSettled = count
	return o
}

// For returns the outbox as it is provided to a product.
func (o *Outbox) For(product string) module.Mailer { return mailer{o, product} }

type mailer struct {
	outbox  *Outbox
	product string
}

// Statuses of a row.
const (
	statusWaiting = "waiting"
	StatusSent    = "sent"
	StatusFailed  = "failed" // given up
)

// Limits of an email.
const (
	maxSubject     = 200     // characters; longer ones are cut
	maxName        = 120     // characters of a name; longer ones are cut
	maxAddress     = 254     // bytes (RFC 5321, 4.5.3.1.3)
	maxText        = 1 << 20 // bytes, of either form
	maxAttachments = 1 << 20 // bytes of all together
)

// Send implements [module.Mailer].
func (m mailer) Send(ctx context.Context, tx pgx.Tx, mail module.Email) error {
	if mail.TenantID == uuid.Nil {
		return errors.New("mail of no tenant")
	}
	to, err := checkAddress("to", mail.To)
	if err != nil {
		return err
	}
	replyTo := ""
	if mail.ReplyTo != "" {
		if replyTo, err = checkAddress("reply_to", mail.ReplyTo); err != nil {
			return err
		}
	}
	if strings.ContainsFunc(mail.Unsubscribe, func(r rune) bool { return unicode.IsControl(r) || r == '<' || r == '>' }) {
		return hub.Invalid("unsubscribe", "must be an address")
	}
	size, files := 0, make([]module.Attachment, len(mail.Attachments))
	for i, attachment := range mail.Attachments {
		size += len(attachment.Content)
		files[i] = module.Attachment{Name: headerText(attachment.Name, maxName), Type: headerText(attachment.Type, maxName), Content: attachment.Content}
	}
	if len(mail.Text) > maxText || len(mail.HTML) > maxText || size > maxAttachments {
		return hub.Errorf(hub.ErrTooLarge, "mail_too_large", "The mail is too large: a text and its attachments may have 1 MiB each.")
	}
	attachments, err := json.Marshal(files)
	if err != nil {
		return fmt.Errorf("encoding attachments: %w", err)
	}
	status := statusWaiting
	if m.outbox.config.Server == nil && m.outbox.config.Keep {
		status = StatusSent // it is only kept
	}
	err = dbgen.New(tx).CreateMail(ctx, dbgen.CreateMailParams{
		ID: uuid.Must(uuid.NewV7()), Product: m.product, TenantID: &mail.TenantID, Recipient: to, FromName: headerText(mail.FromName, maxName), ReplyTo: replyTo,
		Subject: headerText(mail.Subject, maxSubject), Body: store.ValidText(mail.Text), Html: store.ValidText(mail.HTML),
		Attachments: attachments, Status: status, About: mail.SubjectID, Unsubscribe: mail.Unsubscribe,
	})
	return store.Wrap("storing a mail", err)
}

// CanSend reports whether mail goes anywhere: to a server or, in development, to the outbox
// that developers read.
func (o *Outbox) CanSend() bool { return o.config.Server != nil || o.config.Keep }

// CheckAddress returns a [hub.ErrInvalid] unless text is exactly one e-mail address.
func CheckAddress(location, text string) error {
	_, err := checkAddress(location, text)
	return err
}

// SendOwn stores an email of the hub itself, which belongs to no tenant, in the caller's
// transaction.
func (o *Outbox) SendOwn(ctx context.Context, tx pgx.Tx, to, subject, text string) error {
	status := statusWaiting
	if o.config.Server == nil && o.config.Keep {
		status = StatusSent // it is only kept
	}
	err := dbgen.New(tx).CreateMail(ctx, dbgen.CreateMailParams{
		ID: uuid.Must(uuid.NewV7()), Product: hub.ProductHub, Recipient: to, Subject: headerText(subject, maxSubject), Body: store.ValidText(text),
		Attachments: []byte("[]"), Status: status,
	})
	return store.Wrap("storing a mail", err)
}

// EraseSubject implements [module.Mailer].
func (m mailer) EraseSubject(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, text string) error {
	return store.Wrap("forgetting mail", dbgen.New(tx).DeleteMailsAboutSubject(ctx, dbgen.DeleteMailsAboutSubjectParams{Product: m.product, TenantID: tenant, About: text}))
}

// checkAddress returns text if it is exactly one address. Control characters, such as
// line breaks, are refused.
func checkAddress(field, text string) (string, error) {
	parsed, err := netmail.ParseAddress(text)
	if err != nil || parsed.Address != text || len(text) > maxAddress || strings.ContainsFunc(text, unicode.IsControl) {
		return "", hub.Invalid(field, "must be an e-mail address")
	}
	return text, nil
}

// headerText turns user input into the text of a header: one line of at most maxLength
// characters. A line break would begin another header.
func headerText(text string, maxLength int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	runes := []rune(strings.TrimSpace(text))
	return string(runes[:min(len(runes), maxLength)])
}

// Item is an email as developers read it.
type Item struct {
	ID        uuid.UUID
	To        string
	Subject   string
	Text      string
	HTML      string // "" = none
	CreatedAt time.Time
}

// List returns up to limit emails to an address, newest first, older than the email
// before. An empty address matches every recipient.
func (o *Outbox) List(ctx context.Context, to string, before *uuid.UUID, limit int) ([]Item, error) {
	rows, err := dbgen.New(o.config.DB).ListMails(ctx, dbgen.ListMailsParams{Recipient: to, Before: before, RowLimit: int32(limit)})
	if err != nil {
		return nil, store.Wrap("listing mail", err)
	}
	list := make([]Item, len(rows))
	for i, row := range rows {
		list[i] = Item{ID: row.ID, To: row.Recipient, Subject: row.Subject, Text: row.Body, HTML: row.Html, CreatedAt: row.CreatedAt}
	}
	return list, nil
}
