package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// visitor is the client of [demo.showAllProducts], who is erased at its end.
var visitor = person{"Olga Peixoto", "+5511987659902", "olga@example.com"}

// sessions are the logins of the three accounts' administrators. Only the demo that opened an
// account has its login: in others it is nil.
type sessions struct {
	salon, clinic, company *client.Account
	connection             int64 // the company's

	patient       string // id of the visitor in the clinic
	messagesShown int    // messages on the visitor's phone that were shown
}

// reminderTime is how long the reminder may take: reminders are due at full minutes, and
// looked for every 20 seconds.
const reminderTime = 80 * time.Second

// showAllProducts shows the three products together: a reminder by chat, a cancellation by
// answering it, the answer on the patient's history, a booking from the chat, and an erasure
// in all of them.
func (d *demo) showAllProducts(ctx context.Context, company string, toClinic route) error {
	if d.sessions.salon == nil || d.sessions.clinic == nil || d.sessions.company == nil {
		d.Console.Say("\n   Reminders and bookings by chat were shown by the first demo of this hub.")
		return nil
	}
	salon, found, err := d.FindTenant(ctx, salonName, salonProduct)
	if err != nil || !found {
		return err
	}
	d.step("The company is linked with the organization too, which reminds its clients by chat from now on.", fmt.Sprintf("hub link %q %q --feature reminders", salonProduct+"/"+salonName, chatProduct+"/"+chatName))
	if _, err := d.linkTenants(ctx, salon, company, "reminders"); err != nil {
		return err
	}
	for _, show := range []func(context.Context, route) error{d.showReminder, d.showAnswer, d.showChatBooking, d.showErasure} {
		if err := show(ctx, toClinic); err != nil {
			return err
		}
	}
	return nil
}

// showReminder has the visitor book, and waits for the reminder on the phone.
func (d *demo) showReminder(ctx context.Context, _ route) error {
	d.step(fmt.Sprintf("A client books, and is reminded on the simulated phone; that takes up to %s.", reminderTime),
		fmt.Sprintf(`curl -sS -X PUT %s/%s/api/v1/organization/settings -H "Authorization: Bearer $TOKEN" -d '{"reminder_channels":["whatsapp"]}'; hub phone`, d.Operator.Base(), salonProduct))
	var patient struct{ ID string }
	err := d.sessions.clinic.Post(ctx, "/patients", map[string]any{"name": visitor.name, "phone": visitor.phone, "email": visitor.email}, &patient)
	if err != nil {
		return fmt.Errorf("adding the visitor to the clinic: %w", err)
	}
	d.sessions.patient = patient.ID
	if err := d.addPhone(ctx, visitorNumber(), visitor.name); err != nil {
		return fmt.Errorf("adding the visitor's phone: %w", err)
	}
	free, err := d.findTime(ctx, 2)
	if err != nil {
		return err
	}
	start, err := time.Parse(time.RFC3339, free.start)
	if err != nil {
		return fmt.Errorf("reading a free time: %w", err)
	}
	// The reminder is due at the next full minute.
	settings := map[string]any{"reminder_channels": []string{"whatsapp"}, "reminder_offsets_minutes": []int{int(start.Sub(d.Now().Add(2 * time.Second)).Minutes())}}
	if err := d.sessions.salon.Put(ctx, "/organization/settings", settings, nil); err != nil {
		return fmt.Errorf("switching reminders by chat on: %w", err)
	}
	booked, err := d.book(ctx, visitor, free)
	if err != nil {
		return fmt.Errorf("booking as a client: %w", err)
	}
	d.printBooking(booked, visitor.name)
	text, err := d.awaitMessage(ctx)
	if err != nil {
		return err
	}
	d.printFact("reminded", "on the phone: %s", text)
	return d.sessions.salon.Put(ctx, "/organization/settings", map[string]any{"reminder_offsets_minutes": []int{1440}}, nil)
}

// showAnswer has the visitor cancel by answering the reminder.
func (d *demo) showAnswer(ctx context.Context, toClinic route) error {
	const answer = "2"
	d.step("The client cancels by answering; the clinic has the answer and the cancellation on the patient's history.", fmt.Sprintf("hub phone send %s %s %s", visitorNumber(), chatNumber, answer))
	text, err := d.sendFromVisitor(ctx, answer)
	if err != nil {
		return err
	}
	d.printFact("answered", "by %s: %s", visitor.name, answer)
	d.printFact("replied", "%s", text)
	err = d.follow(ctx, toClinic, "message.received", func(payload json.RawMessage) bool {
		var envelope struct {
			Data struct{ Phone, Body string }
		}
		return json.Unmarshal(payload, &envelope) == nil && envelope.Data.Body == answer && envelope.Data.Phone == visitor.phone
	})
	if err != nil {
		return err
	}
	if err := d.awaitInteraction(ctx, "message_received", answer); err != nil {
		return err
	}
	return d.awaitInteraction(ctx, "appointment_cancelled", "")
}

// showChatBooking has the visitor book by the menus of a queue.
func (d *demo) showChatBooking(ctx context.Context, _ route) error {
	d.step("The client books again, by the menus of the chat: the company calls action/book of the organization.",
		fmt.Sprintf(`curl -sS %s/%s/queue -H "Authorization: Bearer $TOKEN" -d '{"name":"Reception","color":"#00f","options":[{"title":"Book","action":"book"}]}'`, d.Operator.Base(), chatProduct))
	company := d.sessions.company
	var queue struct{ ID int64 }
	err := company.Post(ctx, "/queue", map[string]any{"name": "Reception", "color": "#00f", "greetingMessage": "Welcome!", "options": []any{map[string]any{"title": "Book", "action": "book"}}}, &queue)
	if err == nil {
		err = company.Put(ctx, fmt.Sprintf("/whatsapp/%d", d.sessions.connection), map[string]any{"queueIds": []int64{queue.ID}}, nil)
	}
	if err == nil { // the next message begins a ticket, with the menu
		err = company.Put(ctx, "/company", map[string]any{"reopenMinutes": 0}, nil)
	}
	var list struct{ Tickets []struct{ ID int64 } }
	if err == nil {
		err = company.Get(ctx, "/tickets", url.Values{"searchParam": {visitorNumber()}}, &list)
	}
	for _, ticket := range list.Tickets {
		if err == nil {
			err = company.Put(ctx, fmt.Sprintf("/tickets/%d", ticket.ID), map[string]any{"status": "closed"}, nil)
		}
	}
	if err != nil {
		return fmt.Errorf("adding the menu: %w", err)
	}
	for _, answer := range []string{"Hello", "1", "1", "1"} { // the option, the service, the time
		text, err := d.sendFromVisitor(ctx, answer)
		if err != nil {
			return err
		}
		d.printFact("wrote", "%s", answer)
		d.printFact("replied", "%s", text)
	}
	return d.awaitInteraction(ctx, "appointment_created", "")
}

// showErasure has the clinic erase the visitor, which the other two products do as well.
func (d *demo) showErasure(ctx context.Context, _ route) error {
	d.step("The client asks to be erased: the clinic's deletion request reaches all three.", fmt.Sprintf(`curl -sS -X POST %s/%s/api/v1/patients/$ID/deletion-request -H "Authorization: Bearer $TOKEN"`, d.Operator.Base(), clinicProduct))
	var request struct {
		ID, Status string
		Peers      []struct{ Product, Status string }
	}
	if err := d.sessions.clinic.Post(ctx, "/patients/"+d.sessions.patient+"/deletion-request", nil, &request); err != nil {
		return fmt.Errorf("asking for the erasure: %w", err)
	}
	err := d.await(ctx, "the erasure", func() (bool, error) {
		err := d.sessions.clinic.Get(ctx, "/deletion-requests/"+request.ID, nil, &request)
		return request.Status == "completed", err
	})
	if err != nil {
		return err
	}
	for _, peer := range request.Peers {
		d.printFact("erased", "by %s: %s", terminal.Printable(peer.Product), terminal.Printable(peer.Status))
	}
	d.printFact("erased", "by %s: %s", clinicProduct, request.Status)
	var contacts struct{ Count int }
	if err := d.sessions.company.Get(ctx, "/contacts", url.Values{"searchParam": {visitor.name}}, &contacts); err != nil {
		return fmt.Errorf("looking for the visitor: %w", err)
	}
	d.Console.Say("   %d contacts of that name are left; what was said is kept without its words.", contacts.Count)
	return nil
}

// visitorNumber is the visitor's number as the simulated network has it.
func visitorNumber() string { return strings.TrimPrefix(visitor.phone, "+") }

// sendFromVisitor sends a message from the visitor's phone and returns the company's answer.
func (d *demo) sendFromVisitor(ctx context.Context, text string) (answer string, err error) {
	err = d.Operator.Platform("").Post(ctx, "/sandbox/phones/"+visitorNumber()+"/send", map[string]any{"to": chatNumber, "body": text}, nil)
	if err != nil {
		return "", fmt.Errorf("writing on the phone: %w", err)
	}
	return d.awaitMessage(ctx)
}

// awaitMessage waits for the next message on the visitor's phone, and returns it in one line.
func (d *demo) awaitMessage(ctx context.Context) (text string, err error) {
	err = d.await(ctx, "a message on the phone", func() (bool, error) {
		var inbox struct{ Messages []struct{ Body string } }
		if err := d.Operator.Platform("").Get(ctx, "/sandbox/phones/"+visitorNumber()+"/inbox", nil, &inbox); err != nil || len(inbox.Messages) <= d.sessions.messagesShown {
			return false, err
		}
		text = strings.Join(strings.Fields(terminal.Printable(strings.ReplaceAll(inbox.Messages[d.sessions.messagesShown].Body, "\n", " · "))), " ")
		d.sessions.messagesShown++
		return true, nil
	})
	return strings.ReplaceAll(text, "· ·", "·"), err
}

// awaitInteraction waits until the visitor's history has an entry of a kind whose summary
// contains a text, and shows it.
func (d *demo) awaitInteraction(ctx context.Context, kind, text string) error {
	return d.await(ctx, kind+" on the patient's history", func() (bool, error) {
		var history struct {
			Items []struct {
				Type    string `json:"interaction_type"`
				Summary string `json:"summary"`
			} `json:"items"`
		}
		if err := d.sessions.clinic.Get(ctx, "/patients/"+d.sessions.patient+"/interactions", nil, &history); err != nil {
			return false, err
		}
		for _, entry := range history.Items {
			if entry.Type == kind && strings.Contains(entry.Summary, text) {
				d.printFact("on history", "of the patient %s at %s: %s %s", visitor.name, clinicName, terminal.Printable(entry.Type), terminal.Printable(entry.Summary))
				return true, nil
			}
		}
		return false, nil
	})
}
