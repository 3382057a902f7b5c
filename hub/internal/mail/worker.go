package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/textproto"
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"
	gomail "github.com/wneessen/go-mail"

	"integrationhub/hub/internal/store/dbgen"
)

// Timing of the worker.
const (
	pollEvery = time.Second
	batchSize = 5
	lease     = 5 * time.Minute // longer than a batch can take, including the login
	giveUp    = 24 * time.Hour
	keepFor   = 7 * 24 * time.Hour // sent and failed emails, if they are kept
	pruneTime = time.Hour

	// How long a tenant's mails come after those of others when one broke the connection: the next
	// ones may do so too, each after the time that a server may take.
	breakerPause = 5 * time.Minute

	// Codes of RFC 5321, 4.2.3.
	serviceClosing     = 421
	mailboxUnavailable = 550
	mailboxElsewhere   = 551
	storageExceeded    = 552
	mailboxNameRefused = 553
)

// retryDelays are the delays after the attempts of one email; the last one repeats.
var retryDelays = []time.Duration{
	10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
}

func retryDelay(attempts int32) time.Duration {
	return retryDelays[min(max(int(attempts), 1), len(retryDelays))-1]
}

// Run sends due emails until ctx ends; it finishes the email it is sending then. Any
// number of processes may run it on one database.
func (o *Outbox) Run(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var pruned time.Time
	for {
		if now := time.Now(); now.Sub(pruned) > pruneTime {
			pruned = now
			if err := dbgen.New(o.config.DB).DeleteOldMails(ctx, keepFor.Seconds()); err != nil && ctx.Err() == nil {
				o.config.Log.Warn("removing old mail failed", "error", err)
			}
		}
		for ctx.Err() == nil {
			sent, err := o.sendBatch(ctx)
			if err != nil && ctx.Err() == nil {
				o.config.Log.Warn("sending mail failed", "error", err)
			}
			if err != nil || sent < batchSize {
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sendBatch claims up to a batch of due emails and tries to send them over one
// connection. It returns errors of the database only.
func (o *Outbox) sendBatch(ctx context.Context) (claimed int, err error) {
	maps.DeleteFunc(o.breakers, func(_ string, at time.Time) bool { return time.Since(at) > breakerPause })
	rows, err := dbgen.New(o.config.DB).ClaimMails(ctx, dbgen.ClaimMailsParams{
		LeaseSeconds: lease.Seconds(), RowLimit: batchSize, Last: slices.AppendSeq([]string{}, maps.Keys(o.breakers)),
	})
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	slices.SortFunc(rows, func(a, b dbgen.ClaimMailsRow) int {
		return cmp.Or(o.breakers[senderOf(a)].Compare(o.breakers[senderOf(b)]), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	working := context.WithoutCancel(ctx) // the email being sent is finished
	client, connErr := o.connect(working)
	if client != nil {
		defer func() { _ = client.Close() }()
	}
	isBroken := false // by the email before
	for _, row := range rows {
		switch {
		case ctx.Err() != nil, isBroken: // not tried: another connection may do
			err = dbgen.New(o.config.DB).UnclaimMail(working, row.ID)
		case connErr != nil:
			err = o.handleFailure(working, row, connErr)
		default:
			isBroken, err = o.sendOne(working, client, row)
		}
		if err != nil {
			return len(rows), err // the leases expire
		}
	}
	return len(rows), nil
}

// senderOf returns whose mail a row is: the column last of the statement that claims mails.
func senderOf(row dbgen.ClaimMailsRow) string {
	tenant := uuid.Nil // of the product itself
	if row.TenantID != nil {
		tenant = *row.TenantID
	}
	return row.Product + tenant.String()
}

// sendOne sends a mail and stores the outcome. isBroken reports whether nothing more can be sent
// over the connection. Its error is of the database.
func (o *Outbox) sendOne(ctx context.Context, client *gomail.Client, row dbgen.ClaimMailsRow) (isBroken bool, err error) {
	m, err := o.message(row)
	if err != nil {
		return false, o.handleFailure(ctx, row, err)
	}
	err = client.Send(m)
	if err == nil || m.IsDelivered() { // what follows delivery may fail
		return err != nil && breaksConnection(err), o.settle(ctx, row, StatusSent)
	}
	if isBroken = breaksConnection(err); isBroken {
		o.breakers[senderOf(row)] = time.Now()
	}
	return isBroken, o.handleFailure(ctx, row, err)
}

// settle ends an email: its row is kept with a final status, or deleted.
func (o *Outbox) settle(ctx context.Context, row dbgen.ClaimMailsRow, status string) error {
	end := dbgen.New(o.config.DB).DeleteMail
	if o.config.Keep {
		end = func(ctx context.Context, id uuid.UUID) error {
			return dbgen.New(o.config.DB).SetMailStatus(ctx, id, status)
		}
	}
	if err := end(ctx, row.ID); err != nil {
		return err
	}
	o.countSettled(status)
	return nil
}

// handleFailure delays an email, or fails it: after a day with an attempt after each delay, or
// when the server refuses it for good. The log holds neither addresses nor contents.
func (o *Outbox) handleFailure(ctx context.Context, row dbgen.ClaimMailsRow, cause error) error {
	reason, final := explain(cause)
	attrs := []any{"mail", row.ID, "product", row.Product, "attempts", row.Attempts, "reason", reason}
	if age := time.Duration(row.AgeSeconds * float64(time.Second)); final || age >= giveUp && int(row.Attempts) >= len(retryDelays) {
		o.config.Log.Error("mail was given up", attrs...)
		return o.settle(ctx, row, StatusFailed)
	}
	o.config.Log.Warn("mail could not be sent yet", attrs...)
	return dbgen.New(o.config.DB).SetMailDueAt(ctx, row.ID, retryDelay(row.Attempts).Seconds())
}

// explain describes why an email was not sent, without the server's text, which may hold
// addresses. final reports whether the server refuses this email for good.
func explain(err error) (reason string, final bool) {
	var refused *gomail.SendError
	if errors.As(err, &refused) && refused.ErrorCode() > 0 {
		subject := map[gomail.SendErrReason]string{
			gomail.ErrSMTPMailFrom: "the sender", gomail.ErrSMTPRcptTo: "the recipient",
			gomail.ErrSMTPData: "the message", gomail.ErrSMTPDataClose: "the message",
		}[refused.Reason]
		text := fmt.Sprintf("the server refused %s with %d", cmp.Or(subject, "a command"), refused.ErrorCode())
		if code := refused.EnhancedStatusCode(); code != "" {
			text += " " + code
		}
		return text, isFinal(refused)
	}
	var reply *textproto.Error
	var resolving *net.DNSError
	var network net.Error
	var certificate *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &reply):
		return fmt.Sprintf("the server responded with %d when logging in", reply.Code), false
	case errors.As(err, &certificate), errors.As(err, &unknown):
		return "the server's certificate is not trusted", false
	case errors.As(err, &resolving):
		return "the server's name was not found", false
	case errors.As(err, &network) && network.Timeout():
		return "the server did not respond in time", false
	case errors.As(err, new(connectError)):
		return err.Error(), false // go-mail and the network have no addresses of people yet
	}
	return "the connection to the server broke", false
}

// finalCodes match the enhanced codes (RFC 3463) that concern the recipient or the message: the
// address, the mailbox, the size and the content. 5.1.7 and 5.1.8 concern the sender.
var finalCodes = regexp.MustCompile(`^5\.([26]\.\d+|3\.4|1\.(\d\d+|[0-69]))$`)

// accessDenied is the enhanced code with which Microsoft 365 refuses a recipient that it does not
// know.
const accessDenied = "5.4.1"

// isFinal reports whether a refusal concerns this email alone. A refused sender, a denied relay,
// a quota and a block list concern every email, and pass or are put right.
func isFinal(refused *gomail.SendError) bool {
	code, isRecipient := refused.ErrorCode(), refused.Reason == gomail.ErrSMTPRcptTo
	if code < 500 || !isRecipient && refused.Reason != gomail.ErrSMTPData && refused.Reason != gomail.ErrSMTPDataClose {
		return false
	}
	if enhanced := refused.EnhancedStatusCode(); enhanced != "" {
		return finalCodes.MatchString(enhanced) || isRecipient && enhanced == accessDenied
	}
	if !isRecipient {
		return code == storageExceeded // the message is too large; of a recipient, a mailbox is full
	}
	return code == mailboxUnavailable || code == mailboxElsewhere || code == mailboxNameRefused
}

// breaksConnection reports whether nothing more can be sent over the connection after an error:
// it is no response of the server, or the response with which the server closes the connection.
func breaksConnection(err error) bool {
	var refused *gomail.SendError
	if err == nil {
		return false
	}
	return !errors.As(err, &refused) || refused.ErrorCode() <= 0 || refused.ErrorCode() == serviceClosing
}
