package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// The company that the demo makes on the messaging platform, and the numbers of the
// simulated network.
const (
	chatProduct  = "messaging"
	chatName     = "Demo Reception"
	chatEmail    = "reception@example.com"
	chatNumber   = "5511987659901" // of the company's phone
	guestChatNum = "5511987659900" // of guestPhone
)

// showChat opens a company on the messaging platform, where the hub hosts it, links it with
// the demo's clinic, and follows a chat message from the guest's phone to the clinic.
func (d *demo) showChat(ctx context.Context) error {
	exists, err := d.openChat(ctx)
	if err != nil {
		return fmt.Errorf("opening the demo's company: %w", err)
	}
	clinic, found, err := d.FindTenant(ctx, clinicName, clinicProduct)
	switch {
	case err != nil:
		return fmt.Errorf("finding the demo's clinic: %w", err)
	case !exists || !found:
		return nil
	}
	company, found, err := d.FindTenant(ctx, chatName, chatProduct)
	if err != nil || !found {
		return fmt.Errorf("the hub has no tenant %q of the product %s: %w", chatName, chatProduct, err)
	}
	d.step("The company is linked with the clinic, as the organization is.", fmt.Sprintf("hub link %q %q", chatProduct+"/"+chatName, clinicProduct+"/"+clinicName))
	link, err := d.linkTenants(ctx, company, clinic)
	if err != nil {
		return err
	}
	toClinic := route{link, clinic, clinicName}
	if err := d.showConversation(ctx, company, toClinic); err != nil {
		return err
	}
	return d.showAllProducts(ctx, company, toClinic)
}

// openChat signs the company up and pairs its phone, once. It returns false where the hub
// does not run the platform, or has no simulated network.
func (d *demo) openChat(ctx context.Context) (exists bool, err error) {
	d.step("The third product is the messaging platform: a company signs up, and pairs its phone by scanning a code.",
		fmt.Sprintf(`curl -sS %s/%s/auth/signup -H 'Content-Type: application/json' -d '{"companyName":%q,…}'`, d.Operator.Base(), chatProduct, chatName))
	password := strings.ToLower(rand.Text())
	var session struct{ Token string }
	opened, err := d.openAccount(chatName, func() error {
		return d.Operator.Platform("").AsOperator().Post(ctx, "/auth/signup", map[string]any{"name": "Demo", "companyName": chatName, "email": chatEmail, "password": password}, &session)
	})
	if err != nil || opened != openedNow {
		return opened == openedEarlier, err
	}
	agent := d.Operator.Platform(session.Token)
	connection, exists, err := d.pairPhone(ctx, agent)
	if err == nil && exists {
		d.sessions.company, d.sessions.connection = &agent, connection
		d.Console.Say("   %s, connected by the phone %s. Its administrator logs in as %s with the password %s (shown this once).", chatName, chatNumber, chatEmail, password)
	}
	return exists, err
}

// pairPhone connects the company with a phone of the simulated network. It returns false
// where there is none: outside of development.
func (d *demo) pairPhone(ctx context.Context, company client.Account) (connectionID int64, paired bool, err error) {
	err = d.addPhone(ctx, chatNumber, chatName)
	var problem *client.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusNotFound {
		d.Console.Say("   Its phone would be a real one here: the simulated network is for development.")
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	var created struct {
		ID int64 `json:"id"`
	}
	if err := company.Post(ctx, "/whatsapp", map[string]any{"name": "Reception"}, &created); err != nil {
		return 0, false, err
	}
	var code struct {
		Text string `json:"qrcode"`
	}
	if err := company.Get(ctx, fmt.Sprintf("/whatsapp/%d/qrCode", created.ID), nil, &code); err != nil {
		return 0, false, err
	}
	return created.ID, true, company.Post(ctx, "/sandbox/phones/"+chatNumber+"/scan", map[string]any{"code": code.Text}, nil)
}

// addPhone adds a phone to the simulated network, or finds it there.
func (d *demo) addPhone(ctx context.Context, number, name string) error {
	return d.Operator.Platform("").Post(ctx, "/sandbox/phones", map[string]any{"number": number, "name": name}, nil)
}

// showConversation has the company write to the guest, who answers, and follows the answer.
func (d *demo) showConversation(ctx context.Context, company string, r route) error {
	key, err := d.createKey(ctx, company, "message.send")
	if err != nil {
		return err
	}
	if err := d.addPhone(ctx, guestChatNum, guestName); err != nil {
		return fmt.Errorf("adding the guest's phone: %w", err)
	}
	d.step("The company writes to the patient, who answers on a simulated phone; the clinic has the answer on the patient's history.",
		fmt.Sprintf(`curl -sS %s/%s/api/messages/send -H "apikey: $KEY" -d '{"number":%q,"body":"…"}'`, d.Operator.Base(), chatProduct, guestChatNum))
	question := "Your appointment was cancelled. Shall we find another time?"
	if err := d.Operator.Platform("").WithKey(key).Post(ctx, "/api/messages/send", map[string]any{"number": guestChatNum, "body": question}, nil); err != nil {
		return fmt.Errorf("sending a message: %w", err)
	}
	d.printFact("sent", "to %s: %s", guestName, question)
	answer := fmt.Sprintf("Yes, please. It is %s here.", d.Now().Format("15:04:05.000"))
	if err := d.Operator.Platform("").Post(ctx, "/sandbox/phones/"+guestChatNum+"/send", map[string]any{"to": chatNumber, "body": answer}, nil); err != nil {
		return fmt.Errorf("answering on the phone: %w", err)
	}
	d.printFact("answered", "by %s: %s", guestName, terminal.Printable(answer))
	return d.follow(ctx, r, "message.received", func(payload json.RawMessage) bool {
		var envelope struct {
			Data struct{ Body string }
		}
		return json.Unmarshal(payload, &envelope) == nil && envelope.Data.Body == answer
	})
}
