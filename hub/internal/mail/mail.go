// Package mail sends mail. A mail is a row that is written in the transaction of
// what it tells about; a background worker takes it to the SMTP server, again and
// again for a day. In development the rows stay, so that developers can look at
// them.
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

// Config is what an [Outbox] works with.
type Config struct {
	DB     *pgxpool.Pool
	Server *Server         // nil = none: mail waits for one, or stays in the outbox where Keep is set
	From   netmail.Address // sender of every mail; products may put another name to it
	Keep   bool            // settled mail stays for a week, to be looked at: development
	Log    *slog.Logger
	TLS    *tls.Config                                                          // nil = the machine's certificate authorities
	Dial   func(ctx context.Context, network, address string) (net.Conn, error) // nil = the usual way; not used for smtps
}

// Outbox takes mail and sends it. It is safe for concurrent use.
type Outbox struct{ config Config }

// New makes an outbox; [Outbox.Run] is what sends.
func New(c Config) *Outbox { return &Outbox{config: c} }

// For is the outbox as one product is lent it.
func (o *Outbox) For(product string) module.Mailer { return mailer{o, product} }

type mailer struct {
	outbox  *Outbox
	product string
}

// Statuses of a row.
const (
	statusWaiting = "waiting"
	statusSent    = "sent"
	statusFailed  = "failed"
)

// Bounds of a mail.
const (
	maxSubject     = 200     // characters; what is longer is cut
	maxName        = 120     // characters of a name; what is longer is cut
	maxAddress     = 254     // bytes (RFC 5321, 4.5.3.1.3)
	maxText        = 1 << 20 // bytes, of either form
	maxAttachments = 1 << 20 // bytes of all together
)

// Send implements [module.Mailer].
func (m mailer) Send(ctx context.Context, tx pgx.Tx, mail module.Email) error {
	if mail.TenantID == uuid.Nil {
		return errors.New("mail of no tenant")
	}
	to, err := address("to", mail.To)
	if err != nil {
		return err
	}
	replyTo := ""
	if mail.ReplyTo != "" {
		if replyTo, err = address("reply_to", mail.ReplyTo); err != nil {
			return err
		}
	}
	if strings.ContainsFunc(mail.Unsubscribe, func(r rune) bool { return unicode.IsControl(r) || r == '<' || r == '>' }) {
		return hub.Invalid("unsubscribe", "must be an address")
	}
	size, files := 0, make([]module.Attachment, len(mail.Attachments))
	for i, one := range mail.Attachments {
		size += len(one.Content)
		files[i] = module.Attachment{Name: line(one.Name, maxName), Type: line(one.Type, maxName), Content: one.Content}
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
		status = statusSent // nowhere but here
	}
	err = dbgen.New(tx).CreateMail(ctx, dbgen.CreateMailParams{
		ID: uuid.Must(uuid.NewV7()), Product: m.product, TenantID: mail.TenantID, Recipient: to, FromName: line(mail.FromName, maxName), ReplyTo: replyTo,
		Subject: line(mail.Subject, maxSubject), Body: storable(mail.Text), Html: storable(mail.HTML),
		Attachments: attachments, Status: status, About: mail.SubjectID, Unsubscribe: mail.Unsubscribe,
	})
	return store.Failed("storing a mail", err)
}

// EraseSubject implements [module.Mailer].
func (m mailer) EraseSubject(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, about string) error {
	return store.Failed("forgetting mail", dbgen.New(tx).ForgetMails(ctx, dbgen.ForgetMailsParams{Product: m.product, TenantID: tenant, About: about}))
}

// address checks that a text is one address and nothing else; control characters,
// line breaks among them, never pass.
func address(field, text string) (string, error) {
	parsed, err := netmail.ParseAddress(text)
	if err != nil || parsed.Address != text || len(text) > maxAddress || strings.ContainsFunc(text, unicode.IsControl) {
		return "", hub.Invalid(field, "must be an e-mail address")
	}
	return text, nil
}

// storable is a text as PostgreSQL holds it.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// line makes a header's text of what people typed: one line, cut to so many
// characters. The names in it are theirs, and a line break would begin another header.
func line(text string, longest int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	runes := []rune(strings.TrimSpace(text))
	return string(runes[:min(len(runes), longest)])
}

// Item is a mail as developers look at it.
type Item struct {
	ID        uuid.UUID
	To        string
	Subject   string
	Text      string
	CreatedAt time.Time
}

// List gives mail to an address, or to anybody where that is "", newest first: up
// to limit of what came before the one with the id before.
func (o *Outbox) List(ctx context.Context, to string, before *uuid.UUID, limit int) ([]Item, error) {
	rows, err := dbgen.New(o.config.DB).ListMails(ctx, dbgen.ListMailsParams{Recipient: to, Before: before, RowLimit: int32(limit)})
	if err != nil {
		return nil, store.Failed("listing mail", err)
	}
	list := make([]Item, len(rows))
	for i, row := range rows {
		list[i] = Item{ID: row.ID, To: row.Recipient, Subject: row.Subject, Text: row.Body, CreatedAt: row.CreatedAt}
	}
	return list, nil
}
