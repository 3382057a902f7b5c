package notify

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/emails"
	"integrationhub/scheduling/internal/store"
)

const (
	// messagingProduct sends messages for organizations that enabled one of these uses
	// in their integration with it.
	messagingProduct = "messaging"
	useReminders     = "reminders"
	useRemarketing   = "remarketing"
	callSendMessage  = "action/send-message"
	statusActive     = "active"
	statusError      = "error" // the product fails at present

	// messageWorkers is how many messaging products are called at a time.
	messageWorkers = 8
	// maxSilentCalls is how many organizations may wait in vain for a product before the
	// others are spared. A single silence may be due to the organization's own account.
	maxSilentCalls = 2
)

// SendMessageReminders sends the due reminders that go through a messaging product. It is a
// job of its own, because a product that does not respond takes its time.
func (n *Notifier) SendMessageReminders(ctx context.Context) error {
	run := &messageRun{Notifier: n, unreachable: make(map[string]bool), silentCalls: make(map[string]int), pausedUntil: make(map[uuid.UUID]time.Time)}
	return n.sendDueReminders(ctx, "whatsapp", run.sendBatch)
}

// messageRun is one run of [Notifier.SendMessageReminders]. It remembers which products it
// does not call again.
type messageRun struct {
	*Notifier
	mu          sync.Mutex
	unreachable map[string]bool         // by the address of the product
	silentCalls map[string]int          // calls without a response, by the address of the product
	pausedUntil map[uuid.UUID]time.Time // by organization
}

// messageSender is an organization with its integration for reminders.
type messageSender struct {
	org  store.Org
	peer module.Integration // see [Notifier.messagingIntegration]
	err  error              // why neither is known
}

// sendBatch sends a batch of reminders. Each product is called by a worker of its own: one
// that does not respond delays no reminder of another.
func (r *messageRun) sendBatch(ctx context.Context, reminders []store.DueReminder) error {
	senders := make(map[uuid.UUID]messageSender)
	groups := make(map[string][]store.DueReminder)
	for _, due := range reminders {
		sender, ok := senders[due.OrgID]
		if !ok {
			sender = r.loadSender(ctx, due.OrgID)
			senders[due.OrgID] = sender
		}
		groups[sender.peer.APIURL] = append(groups[sender.peer.APIURL], due)
	}
	var workers errgroup.Group
	workers.SetLimit(messageWorkers)
	for _, group := range groups {
		workers.Go(func() error {
			for _, due := range group {
				if err := r.postponeFailed(ctx, due, r.sendReminder(ctx, senders[due.OrgID], due)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return workers.Wait()
}

func (r *messageRun) loadSender(ctx context.Context, id uuid.UUID) messageSender {
	org, err := r.store.LoadOrg(ctx, id)
	if err != nil {
		return messageSender{err: err}
	}
	peer, err := r.messagingIntegration(ctx, id, useReminders)
	return messageSender{org, peer, err}
}

// sendReminder sends a reminder through the organization's messaging product. It drops the
// reminder if the organization has none in use, and postpones it while the product fails.
func (r *messageRun) sendReminder(ctx context.Context, sender messageSender, due store.DueReminder) error {
	if sender.err != nil {
		return sender.err
	}
	delay := r.pause(sender)
	switch {
	case sender.peer.Status == statusError:
		return r.store.PostponeReminder(ctx, due, reminderRetry)
	case sender.peer.Status != statusActive:
		return r.store.DropReminder(ctx, due)
	case delay > 0:
		return r.store.PostponeReminder(ctx, due, delay)
	}
	reminder, claimed, err := r.store.ClaimReminder(ctx, due)
	if err != nil || !claimed {
		return err
	}
	outcome, err := r.sendReminderText(ctx, sender, reminder)
	if err != nil {
		r.host.Log.Warn("sending a reminder through the messaging product failed", "organization", due.OrgID, "appointment", due.AppointmentID, "again", outcome.RetryAfter.String(), "error", err)
		r.remember(sender, outcome, err)
	}
	return r.store.SettleReminder(context.WithoutCancel(ctx), due, reminder, outcome)
}

// pause returns for how long nothing is sent through an organization's product; 0: send.
func (r *messageRun) pause(sender messageSender) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	delay := max(0, r.pausedUntil[sender.org.ID].Sub(r.host.Now()))
	if address := sender.peer.APIURL; r.unreachable[address] || r.silentCalls[address] >= maxSilentCalls {
		delay = max(delay, reminderRetry)
	}
	return delay
}

// remember pauses an organization after a call that failed for other reasons than the
// message, and all organizations if nothing can be sent through the product.
func (r *messageRun) remember(sender messageSender, outcome store.Outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var status hub.PeerHTTPStatus
	noResponse := errors.Is(err, hub.ErrPeerTimeout) || hub.HasCode(err, hub.CodePeerUnreachable)
	isBroken := errors.As(err, &status) && status >= http.StatusInternalServerError
	switch {
	case noResponse && outcome.RetryAfter > 0: // there was no connection
		r.unreachable[sender.peer.APIURL] = true
	case noResponse:
		r.silentCalls[sender.peer.APIURL]++
	}
	if noResponse || isBroken || outcome.RetryAfter > 0 {
		r.pausedUntil[sender.org.ID] = r.host.Now().Add(max(reminderRetry, outcome.RetryAfter))
	}
}

func (n *Notifier) sendReminderText(ctx context.Context, sender messageSender, reminder store.ReminderDetails) (store.Outcome, error) {
	number, org := booking.Digits(reminder.Phone), sender.org
	if number == "" {
		return store.Outcome{}, nil
	}
	locale := clientLocale(org, reminder.AppointmentDetail)
	email, err := emails.Render(emails.ReminderMessage, locale, n.appointmentData(org, reminder.AppointmentDetail, reminder.Contact.Name))
	if err != nil { // the product was not called
		return store.Outcome{RetryAfter: reminderRetry}, err
	}
	message := textMessage{Number: number, Body: email.Text, Appointment: &askedAbout{
		ID: reminder.ID.String(), Title: reminder.ServiceName + ", " + emails.FormatTime(locale, reminder.StartAt.In(org.Zone), org.Settings.TimeFormat == "12h"),
		Locale: locale, Until: reminder.StartAt.UTC(),
	}}
	if reminder.DepositStatus == booking.DepositPending { // its client cannot confirm it yet
		message.Appointment = nil
	}
	outcome, err := n.sendText(ctx, sender.peer.ID, message)
	if errors.Is(err, hub.ErrInvalid) && !isRefusal(err) { // products of other makers may not know questions
		message.Appointment = nil
		outcome, err = n.sendText(ctx, sender.peer.ID, message)
	}
	return outcome, err
}

// failedOutcome returns the outcome of a call that failed. The message is retried if it was
// certainly not sent: the product limits its rate or refuses the key, there was no
// connection, or the hub itself failed before the call. Otherwise it may have been sent, or
// the product refused it.
func failedOutcome(err error) store.Outcome {
	var problem *hub.Error
	isProblem := errors.As(err, &problem) // as all errors of a call that was made are
	switch {
	case isProblem && problem.Code == hub.CodePeerRateLimited:
		return store.Outcome{RetryAfter: max(reminderRetry, problem.RetryAfter), Limited: true}
	case !isProblem, isDialError(err), problem.Code == hub.CodeKeyRejected, errors.Is(err, hub.ErrUnavailable),
		problem.Code == hub.CodePeerUnreachable && problem.Extensions[hub.ReasonMember] != nil:
		return store.Outcome{RetryAfter: reminderRetry}
	}
	return store.Outcome{}
}

// isDialError reports whether there was no connection to the product.
func isDialError(err error) bool {
	var dialling *net.OpError
	return errors.As(err, &dialling) && dialling.Op == "dial"
}

// isRefusal reports whether the product refuses the message for its key, scope or
// number.
func isRefusal(err error) bool {
	var status hub.PeerHTTPStatus
	return hub.HasCode(err, hub.CodeKeyRejected) || errors.As(err, &status) && status.Refused()
}

// findMessagingIntegration finds the active integration with the messaging product that is
// enabled for a purpose.
func (n *Notifier) findMessagingIntegration(ctx context.Context, org uuid.UUID, purpose string) (uuid.UUID, bool, error) {
	integration, err := n.messagingIntegration(ctx, org, purpose)
	return integration.ID, integration.Status == statusActive, err
}

// messagingIntegration returns the integration with the messaging product that is enabled
// for a purpose: an active one, else one that fails. Without either its status is "".
func (n *Notifier) messagingIntegration(ctx context.Context, org uuid.UUID, purpose string) (found module.Integration, err error) {
	integrations, err := n.host.Peers.List(ctx, org, hub.Live)
	if err != nil {
		return found, err
	}
	for _, integration := range integrations {
		if integration.Product != messagingProduct || !slices.Contains(integration.EnabledUses, purpose) {
			continue
		}
		if integration.Status == statusActive {
			return integration, nil
		}
		if integration.Status == statusError {
			found = integration
		}
	}
	return found, nil
}
