package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// showJourney has a client book and cancel, and follows both to the patient's history.
func (d *demo) showJourney(ctx context.Context, c *linkedAccounts) error {
	d.step("A client books at the salon, and the delivery log tells how the clinic learned of it.",
		fmt.Sprintf("hub deliveries list --tenant %q --type appointment.created", salonName))
	booked, err := d.bookGuest(ctx)
	if err != nil {
		return fmt.Errorf("booking as a client: %w", err)
	}
	d.printBooking(booked, guestName)
	if err := d.follow(ctx, c.route(), "appointment.created", isAboutAppointment(booked.ID)); err != nil {
		return err
	}
	appointment, err := d.awaitHistory(ctx, c, func(a clinicAppointment) bool { return a.Datetime.Equal(booked.StartAt) && a.Status == "scheduled" })
	if err != nil {
		return err
	}
	d.printAppointment(appointment)

	d.step("The client cancels with the link of the booking, and the same way the clinic knows that too.",
		fmt.Sprintf("hub deliveries list --tenant %q --type appointment.cancelled", salonName))
	err = c.public.Post(ctx, "/public/book/"+salonSlug+"/cancel", map[string]any{"cancel_token": booked.Token, "reason": "hub demo"}, nil)
	if err != nil {
		return fmt.Errorf("cancelling as a client: %w", err)
	}
	d.printFact("cancelled", "by %s", guestName)
	if err := d.follow(ctx, c.route(), "appointment.cancelled", isAboutAppointment(booked.ID)); err != nil {
		return err
	}
	appointment, err = d.awaitHistory(ctx, c, func(a clinicAppointment) bool { return a.ID == appointment.ID && a.Status == "cancelled" })
	if err != nil {
		return err
	}
	d.printAppointment(appointment)
	d.Console.Say("\n   Two events, delivered and received: signed by the salon's side, stored together with their effect by the clinic's.\n   The second came after the first: the hub sends the events of one appointment in order.")
	return nil
}

func (d *demo) printBooking(booked bookedGuest, name string) {
	d.printFact("booked", "%s with %s, %s, by %s", terminal.Printable(booked.Service), terminal.Printable(booked.Professional), booked.StartAt.Format("Mon 2 Jan 15:04"), name)
}

// printFact prints one line of a journey: what happened, and its details.
func (d *demo) printFact(name, format string, args ...any) {
	d.Console.Say("   %s %s", d.Console.Success("●")+fmt.Sprintf(" %-10s", name), fmt.Sprintf(format, args...))
}

func (d *demo) printAppointment(appointment clinicAppointment) {
	d.printFact("on history", "of the patient %s at %s: %s, %s", guestName, clinicName, terminal.Printable(appointment.Service), terminal.Printable(appointment.Status))
}

// route is the way of an event between two products.
type route struct {
	link         string // the sender's integration
	receiver     string // the receiving tenant
	receiverName string
}

// route returns the way of the salon's events to the clinic.
func (c *linkedAccounts) route() route { return route{c.link, c.clinic, clinicName} }

// follow prints what the log has of an event, from its publication to its arrival. matches
// reports whether a payload is the event's.
func (d *demo) follow(ctx context.Context, r route, eventType string, matches func(payload json.RawMessage) bool) error {
	sent, err := d.awaitDelivery(ctx, client.DeliveryQuery{IntegrationID: r.link, EventType: eventType, Direction: "outbound"}, func(delivery client.Delivery) bool {
		return matches(delivery.Payload)
	})
	if err != nil {
		return err
	}
	began := sent.CreatedAt
	d.printFact("published", "%s  %s  %s, in the transaction of the change", began.UTC().Format("15:04:05.000Z"), terminal.Printable(sent.EventID), terminal.Printable(sent.EventType))
	attempts := slices.Clone(sent.Attempts)
	slices.SortFunc(attempts, func(a, b client.Attempt) int { return a.Number - b.Number })
	for _, attempt := range attempts {
		outcome := fmt.Sprintf("responded %d", attempt.StatusCode)
		if attempt.StatusCode == 0 {
			outcome = "no response: " + terminal.Printable(attempt.Error)
		}
		d.printFact(fmt.Sprintf("attempt %d", attempt.Number), "%s  %s after %.1f ms", since(began, attempt.StartedAt), outcome, attempt.Phases.TotalMS)
	}
	received, err := d.awaitDelivery(ctx, client.DeliveryQuery{EventID: sent.EventID, TenantID: r.receiver, Direction: "inbound"}, func(client.Delivery) bool { return true })
	if err != nil {
		return err
	}
	var answer struct {
		Status string `json:"status"`
	}
	_ = json.Unmarshal([]byte(received.ResponseBody), &answer) // an answer of another form is shown without its word
	d.printFact("received", "%s  by %s, its signature checked: %s", since(began, received.CreatedAt), r.receiverName, terminal.Printable(answer.Status))
	return nil
}

// since formats the whole milliseconds from start to end.
func since(start, end time.Time) string {
	return fmt.Sprintf("+%d ms", max(0, end.Sub(start).Milliseconds()))
}

// isAboutAppointment returns a function that reports whether a payload is about an appointment.
func isAboutAppointment(id string) func(payload json.RawMessage) bool {
	return func(payload json.RawMessage) bool {
		var envelope struct {
			Data struct {
				AppointmentID string `json:"appointment_id"`
			} `json:"data"`
		}
		return json.Unmarshal(payload, &envelope) == nil && envelope.Data.AppointmentID == id
	}
}

// awaitDelivery waits until the log shows a matching delivery as delivered, and returns
// it with its attempts.
func (d *demo) awaitDelivery(ctx context.Context, filter client.DeliveryQuery, matches func(client.Delivery) bool) (found client.Delivery, err error) {
	err = d.await(ctx, "the log to show "+filter.EventType+filter.EventID+" as delivered", func() (bool, error) {
		page, err := d.Operator.Deliveries(ctx, filter, client.PageQuery{})
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(page.Value.Items, func(delivery client.Delivery) bool { return delivery.Status == "delivered" && matches(delivery) })
		if i < 0 {
			return false, nil
		}
		reply, err := d.Operator.Delivery(ctx, page.Value.Items[i].ID)
		found = reply.Value
		return true, err
	})
	return found, err
}

// clinicAppointment is an appointment in the clinic's API for connected products.
type clinicAppointment struct {
	ID       string    `json:"id"`
	Datetime time.Time `json:"datetime"`
	Service  string    `json:"service"`
	Status   string    `json:"status"`
}

// awaitHistory waits until the clinic has a matching appointment of the guest.
func (d *demo) awaitHistory(ctx context.Context, c *linkedAccounts, matches func(clinicAppointment) bool) (appointment clinicAppointment, err error) {
	err = d.await(ctx, "the appointment on the patient's history", func() (bool, error) {
		var answer struct {
			Appointments []clinicAppointment `json:"appointments"`
		}
		query := url.Values{"patient_id": {c.patient}, "limit": {"100"}}
		if err := c.searches.Get(ctx, "/integrations/search/appointments", query, &answer); err != nil {
			return false, err
		}
		i := slices.IndexFunc(answer.Appointments, matches)
		if i >= 0 {
			appointment = answer.Appointments[i]
		}
		return i >= 0, nil
	})
	return appointment, err
}

// await polls a condition until it holds.
func (d *demo) await(ctx context.Context, what string, holds func() (bool, error)) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}
