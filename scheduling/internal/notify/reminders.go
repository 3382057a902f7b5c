package notify

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/emails"
	"integrationhub/scheduling/internal/store"
)

const (
	remindersAtOnce = 200
	// messagingProduct sends messages for organizations that are connected to it for
	// one of these uses, by this call.
	messagingProduct = "messaging"
	useReminders     = "reminders"
	useRemarketing   = "remarketing"
	sendMessage      = "action/send-message"
)

// reminders sends those whose time has come.
func (o *Office) reminders(ctx context.Context, _ []byte) error {
	for {
		list, err := o.store.DueReminders(ctx, o.host.Now(), remindersAtOnce)
		if err != nil {
			return err
		}
		failed := false
		for _, due := range list {
			if err := o.remind(ctx, due); err != nil {
				failed = true
				o.host.Log.Warn("sending a reminder failed", "organization", due.OrgID, "appointment", due.AppointmentID, "error", err)
			}
		}
		if failed || len(list) < remindersAtOnce || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (o *Office) remind(ctx context.Context, due store.Due) error {
	org, err := o.store.Org(ctx, due.OrgID)
	if err != nil {
		return err
	}
	if due.Channel == "whatsapp" {
		return o.remindByMessage(ctx, org, due)
	}
	return o.store.Remind(ctx, due, func(tx *store.Tx, about store.Reminded) (bool, error) {
		return o.send(ctx, tx, org, envelope{to: about.Contact.Email, about: about.ClientID}, emails.Reminder, o.facts(org, about.AppointmentDetail, about.Contact.Name))
	})
}

// remindByMessage sends a reminder through the messaging product: claimed first, sent
// while no transaction is open, and settled by what came of it.
func (o *Office) remindByMessage(ctx context.Context, org store.Org, due store.Due) error {
	about, claimed, err := o.store.Claim(ctx, due)
	if err != nil || !claimed {
		return err
	}
	return o.store.Claimed(context.WithoutCancel(ctx), due, about, o.message(ctx, org, about))
}

func (o *Office) message(ctx context.Context, org store.Org, about store.Reminded) store.Outcome {
	peer, found, err := o.messenger(ctx, org.ID, useReminders)
	number := booking.Digits(about.Phone)
	if err != nil || !found || number == "" {
		return store.Outcome{}
	}
	l, err := emails.Write(emails.Message, org.Locale, o.facts(org, about.AppointmentDetail, about.Contact.Name))
	if err != nil {
		return store.Outcome{}
	}
	came, err := o.hand(ctx, peer, number, l.Text)
	if err != nil {
		o.host.Log.Warn("sending a reminder through the messaging product failed", "organization", org.ID, "appointment", about.ID, "again", came.Again.String(), "error", err)
	}
	return came
}

// surelyNotSent tells when to try again what the other product did not take: it had
// too many requests, or could not be connected to. 0 where it may have been sent, or
// is not wanted.
func surelyNotSent(err error) time.Duration {
	var problem *hub.Error
	var dialling *net.OpError
	switch {
	case errors.As(err, &problem) && problem.Code == hub.CodePeerRateLimited:
		return max(time.Minute, problem.RetryAfter)
	case errors.As(err, &dialling) && dialling.Op == "dial":
		return time.Minute
	}
	return 0
}

// refused tells whether the other product answered that it will not send it: our key, or
// its scope, or the number is not good.
func refused(err error) bool {
	var problem *hub.Error
	var status hub.PeerHTTPStatus
	return errors.As(err, &problem) && problem.Code == hub.CodeKeyRejected || errors.As(err, &status) && status.Refused()
}

// messenger finds the connection through which an organization sends messages of a use.
func (o *Office) messenger(ctx context.Context, org uuid.UUID, use string) (uuid.UUID, bool, error) {
	list, err := o.host.Peers.List(ctx, org, hub.Live)
	if err != nil {
		return uuid.Nil, false, err
	}
	for _, one := range list {
		if one.Product == messagingProduct && one.Status == "active" && slices.Contains(one.EnabledUses, use) {
			return one.ID, true, nil
		}
	}
	return uuid.Nil, false, nil
}
