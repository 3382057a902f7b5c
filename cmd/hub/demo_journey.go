package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"integrationhub/cmd/hub/internal/client"
)

// showJourney has a client book and cancel, and follows both to the patient's history.
func (d *demo) showJourney(ctx context.Context, c *connected) error {
	d.step("A client books at the salon, and the delivery log tells how the clinic came to know.",
		fmt.Sprintf("hub deliveries list --tenant %q --type appointment.created", salonName))
	booked, err := d.bookGuest(ctx, c)
	if err != nil {
		return fmt.Errorf("booking as a client: %w", err)
	}
	d.stop("booked", "%s with %s, %s, by %s", printable(booked.Service), printable(booked.Professional), booked.StartAt.Format("Mon 2 Jan 15:04"), guestName)
	if err := d.follow(ctx, c, "appointment.created", booked.ID); err != nil {
		return err
	}
	kept, err := d.awaitHistory(ctx, c, func(one keptAppointment) bool { return one.Datetime.Equal(booked.StartAt) && one.Status == "scheduled" })
	if err != nil {
		return err
	}
	d.stopKept(kept)

	d.step("The client cancels with the link of the booking, and the same way the clinic knows that too.",
		fmt.Sprintf("hub deliveries list --tenant %q --type appointment.cancelled", salonName))
	err = c.public.Post(ctx, "/public/book/"+salonSlug+"/cancel", map[string]any{"cancel_token": booked.Token, "reason": "hub demo"}, nil)
	if err != nil {
		return fmt.Errorf("cancelling as a client: %w", err)
	}
	d.stop("cancelled", "by %s", guestName)
	if err := d.follow(ctx, c, "appointment.cancelled", booked.ID); err != nil {
		return err
	}
	kept, err = d.awaitHistory(ctx, c, func(one keptAppointment) bool { return one.ID == kept.ID && one.Status == "cancelled" })
	if err != nil {
		return err
	}
	d.stopKept(kept)
	d.say("\n   Two events, delivered and received: signed by the salon's side, stored together with their effect by the clinic's.\n   The second waited a moment: peers take 100 webhooks a minute, and the hub keeps below it.")
	return nil
}

// stop prints one station of a journey.
func (d *demo) stop(name, format string, args ...any) {
	d.say("   %s %s", d.app.paint(green, "●")+fmt.Sprintf(" %-10s", name), fmt.Sprintf(format, args...))
}

func (d *demo) stopKept(kept keptAppointment) {
	d.stop("on history", "of the patient %s at %s: %s, %s", guestName, clinicName, printable(kept.Service), printable(kept.Status))
}

// follow prints what the log has of an event about an appointment, from its publication
// to its arrival.
func (d *demo) follow(ctx context.Context, c *connected, eventType, appointment string) error {
	sent, err := d.awaitDelivery(ctx, client.DeliveryQuery{IntegrationID: c.link, EventType: eventType, Direction: "outbound"}, func(one client.Delivery) bool {
		return aboutAppointment(one.Payload, appointment)
	})
	if err != nil {
		return err
	}
	began := sent.CreatedAt
	d.stop("published", "%s  %s  %s, in the transaction of the change", began.UTC().Format("15:04:05.000Z"), printable(sent.EventID), printable(sent.EventType))
	attempts := slices.Clone(sent.Attempts)
	slices.SortFunc(attempts, func(a, b client.Attempt) int { return a.Number - b.Number })
	for _, one := range attempts {
		outcome := fmt.Sprintf("answered %d", one.StatusCode)
		if one.StatusCode == 0 {
			outcome = "no answer: " + printable(one.Error)
		}
		d.stop(fmt.Sprintf("attempt %d", one.Number), "%s  %s after %.1f ms", since(began, one.StartedAt), outcome, one.Phases.TotalMS)
	}
	received, err := d.awaitDelivery(ctx, client.DeliveryQuery{EventID: sent.EventID, TenantID: c.clinic, Direction: inbound}, func(client.Delivery) bool { return true })
	if err != nil {
		return err
	}
	var answer struct {
		Status string `json:"status"`
	}
	_ = json.Unmarshal([]byte(received.ResponseBody), &answer) // an answer of another form is shown without its word
	d.stop("received", "%s  by %s, its signature checked: %s", since(began, received.CreatedAt), clinicName, printable(answer.Status))
	return nil
}

// since is how long after another moment something was, in whole milliseconds.
func since(began, at time.Time) string {
	return fmt.Sprintf("+%d ms", max(0, at.Sub(began).Milliseconds()))
}

func aboutAppointment(payload json.RawMessage, id string) bool {
	var envelope struct {
		Data struct {
			AppointmentID string `json:"appointment_id"`
		} `json:"data"`
	}
	return json.Unmarshal(payload, &envelope) == nil && envelope.Data.AppointmentID == id
}

// awaitDelivery waits until the log has a delivery that is meant as delivered, and gives
// it with its attempts.
func (d *demo) awaitDelivery(ctx context.Context, filter client.DeliveryQuery, meant func(client.Delivery) bool) (found client.Delivery, err error) {
	err = d.await(ctx, "the log to show "+filter.EventType+filter.EventID+" as delivered", func() (bool, error) {
		page, err := d.operator.Deliveries(ctx, filter, client.PageQuery{})
		if err != nil {
			return false, err
		}
		at := slices.IndexFunc(page.Value.Items, func(one client.Delivery) bool { return one.Status == "delivered" && meant(one) })
		if at < 0 {
			return false, nil
		}
		reply, err := d.operator.Delivery(ctx, page.Value.Items[at].ID)
		found = reply.Value
		return true, err
	})
	return found, err
}

// keptAppointment is an appointment as the clinic shows it to connected products.
type keptAppointment struct {
	ID       string    `json:"id"`
	Datetime time.Time `json:"datetime"`
	Service  string    `json:"service"`
	Status   string    `json:"status"`
}

// awaitHistory waits until the clinic has an appointment of the guest that is meant.
func (d *demo) awaitHistory(ctx context.Context, c *connected, meant func(keptAppointment) bool) (kept keptAppointment, err error) {
	err = d.await(ctx, "the appointment on the patient's history", func() (bool, error) {
		var answer struct {
			Appointments []keptAppointment `json:"appointments"`
		}
		query := url.Values{"patient_id": {c.patient}, "limit": {"100"}}
		if err := c.searches.Get(ctx, "/integrations/search/appointments", query, &answer); err != nil {
			return false, err
		}
		at := slices.IndexFunc(answer.Appointments, meant)
		if at >= 0 {
			kept = answer.Appointments[at]
		}
		return at >= 0, nil
	})
	return kept, err
}

// await asks again and again until something is so.
func (d *demo) await(ctx context.Context, what string, so func() (bool, error)) error {
	tick := time.NewTicker(demoPoll)
	defer tick.Stop()
	for {
		ok, err := so()
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
