package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"slices"
	"time"

	gomail "github.com/wneessen/go-mail"

	"integrationhub/hub/internal/store/dbgen"
)

// How mail is taken from the table.
const (
	pollEvery = time.Second
	batchSize = 5
	lease     = 5 * time.Minute // longer than a batch can take, logging in included
	giveUp    = 24 * time.Hour
	keepFor   = 7 * 24 * time.Hour // settled mail, where it is kept
	pruneTime = time.Hour
)

// waits are the pauses after the attempts of one mail; the last one repeats.
var waits = []time.Duration{
	10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
}

func wait(attempts int32) time.Duration {
	return waits[min(max(int(attempts), 1), len(waits))-1]
}

// Run sends what is due until ctx ends; the mail under way is finished then. Any
// number of processes may run it on one database.
func (o *Outbox) Run(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var pruned time.Time
	for {
		if now := time.Now(); now.Sub(pruned) > pruneTime {
			pruned = now
			if err := dbgen.New(o.config.DB).PruneMails(ctx, keepFor.Seconds()); err != nil && ctx.Err() == nil {
				o.config.Log.Warn("removing old mail failed", "error", err)
			}
		}
		for ctx.Err() == nil {
			sent, err := o.round(ctx)
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

// round claims what is due, up to a batch, and tries to send it over one
// connection. The error is the database's.
func (o *Outbox) round(ctx context.Context) (claimed int, err error) {
	rows, err := dbgen.New(o.config.DB).ClaimMails(ctx, lease.Seconds(), batchSize)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	slices.SortFunc(rows, func(a, b dbgen.ClaimMailsRow) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	working := context.WithoutCancel(ctx) // what was begun is brought to its end
	client, broken := o.connect(working)
	if client != nil {
		defer func() { _ = client.Close() }()
	}
	for _, row := range rows {
		switch {
		case ctx.Err() != nil:
			err = dbgen.New(o.config.DB).ReturnMail(working, row.ID)
		case broken != nil:
			err = o.failed(working, row, broken)
		default:
			var sending error
			if sending = o.send(client, row); sending == nil {
				err = o.settle(working, row, statusSent)
			} else {
				err = o.failed(working, row, sending)
			}
			broken = lostConnection(sending)
		}
		if err != nil {
			return len(rows), err // the leases end by themselves
		}
	}
	return len(rows), nil
}

func (o *Outbox) send(client *gomail.Client, row dbgen.ClaimMailsRow) error {
	m, err := o.message(row)
	if err != nil {
		return err
	}
	if err := client.Send(m); err != nil && !m.IsDelivered() { // what follows delivery may fail
		return err
	}
	return nil
}

// settle ends a mail: it stays to be looked at, or goes.
func (o *Outbox) settle(ctx context.Context, row dbgen.ClaimMailsRow, status string) error {
	if o.config.Keep {
		return dbgen.New(o.config.DB).SettleMail(ctx, row.ID, status)
	}
	return dbgen.New(o.config.DB).DeleteMail(ctx, row.ID)
}

// failed puts a mail off, or gives it up: after a day, or when the server will not
// ever take it. The log names neither people nor what was written to them.
func (o *Outbox) failed(ctx context.Context, row dbgen.ClaimMailsRow, cause error) error {
	reason, final := explain(cause)
	about := []any{"mail", row.ID, "product", row.Product, "attempts", row.Attempts, "reason", reason}
	if age := time.Duration(row.AgeSeconds * float64(time.Second)); final || age >= giveUp {
		o.config.Log.Error("mail was given up", about...)
		return o.settle(ctx, row, statusFailed)
	}
	o.config.Log.Warn("mail could not be sent yet", about...)
	return dbgen.New(o.config.DB).DelayMail(ctx, row.ID, wait(row.Attempts).Seconds())
}

// explain tells why a mail was not sent, in words without addresses: servers like to
// repeat them. Final is a refusal of this very mail for good (RFC 5321, 4.2.1: 5yz).
func explain(err error) (reason string, final bool) {
	var refused *gomail.SendError
	if errors.As(err, &refused) && refused.ErrorCode() > 0 {
		step := map[gomail.SendErrReason]string{
			gomail.ErrSMTPMailFrom: "the sender", gomail.ErrSMTPRcptTo: "the recipient",
			gomail.ErrSMTPData: "the message", gomail.ErrSMTPDataClose: "the message",
		}[refused.Reason]
		text := fmt.Sprintf("the server refused %s with %d", cmp.Or(step, "a command"), refused.ErrorCode())
		if code := refused.EnhancedStatusCode(); code != "" {
			text += " " + code
		}
		// A sender that is refused is a matter of settings, which can be put right.
		return text, refused.ErrorCode() >= 500 && step != "" && refused.Reason != gomail.ErrSMTPMailFrom
	}
	var reply *textproto.Error
	var resolving *net.DNSError
	var network net.Error
	var certificate *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &reply):
		return fmt.Sprintf("the server answered %d when logging in", reply.Code), false
	case errors.As(err, &certificate), errors.As(err, &unknown):
		return "the server's certificate is not trusted", false
	case errors.As(err, &resolving):
		return "the server's name was not found", false
	case errors.As(err, &network) && network.Timeout():
		return "the server did not answer in time", false
	case errors.As(err, new(connectError)):
		return err.Error(), false // what go-mail and the network say, which know of nobody yet
	}
	return "the connection to the server broke", false
}

// lostConnection gives the error back where it means that nothing more can be sent
// over the connection: it is not the server's answer.
func lostConnection(err error) error {
	var refused *gomail.SendError
	if err == nil || errors.As(err, &refused) && refused.ErrorCode() > 0 {
		return nil
	}
	return err
}
