package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// The clinic that the demo makes, and the patient of it who is a client of the salon.
const (
	clinicProduct = "clinic"
	clinicName    = "Demo Clinic"
	clinicEmail   = "clinic@example.com"
	guestName     = "Teresa Nogueira"
	guestPhone    = "+5511987659900"
	guestEmail    = "teresa@example.com"
)

// connected are the organization and the clinic, linked.
type connected struct {
	salon, clinic string         // tenants' ids
	link          string         // the salon's integration with the clinic
	public        client.Account // of the scheduling service, as a guest
	searches      client.Account // of the clinic, as a connected product
	patient       string         // id
}

// showClinic links a clinic with the demo's organization, where the hub hosts both, and
// follows a booking and its cancellation from one to the other.
func (d *demo) showClinic(ctx context.Context) error {
	there, err := d.openClinic(ctx)
	if err != nil {
		return fmt.Errorf("opening the demo's clinic: %w", err)
	}
	salon, found, err := d.FindTenant(ctx, salonName, salonProduct)
	switch {
	case err != nil:
		return fmt.Errorf("finding the demo's organization: %w", err)
	case !there || !found:
		return nil // the hub does not run both
	}
	c := &connected{salon: salon, public: d.Operator.Account(salonProduct, "")}
	if c.clinic, found, err = d.FindTenant(ctx, clinicName, clinicProduct); err != nil {
		return fmt.Errorf("finding the demo's clinic: %w", err)
	}
	if !found {
		return fmt.Errorf("the hub has no tenant %q of the product %s", clinicName, clinicProduct)
	}
	if err := d.link(ctx, c); err != nil {
		return err
	}
	if err := d.findGuest(ctx, c); err != nil || c.patient == "" {
		return err
	}
	return d.showJourney(ctx, c)
}

// openClinic creates the clinic and its patient, once. It returns false where the hub does
// not run the product.
func (d *demo) openClinic(ctx context.Context) (there bool, err error) {
	d.step("A second product in the same hub, the clinic: its own accounts, data and keys.",
		fmt.Sprintf(`curl -sS %s/%s/api/v1/auth/register -H 'Content-Type: application/json' -d '{"clinic_name":%q,…}'`,
			d.Operator.Base(), clinicProduct, clinicName))
	password := strings.ToLower(rand.Text())
	var session struct {
		AccessToken string `json:"access_token"`
	}
	err = d.Operator.Account(clinicProduct, "").Post(ctx, "/auth/register", map[string]any{
		"clinic_name": clinicName, "name": "Demo", "email": clinicEmail, "password": password,
	}, &session)
	var problem *client.Problem
	switch {
	case errors.As(err, &problem) && problem.Status == http.StatusNotFound:
		d.Console.Say("   This hub does not run it (HUB_PRODUCTS).")
		return false, nil
	case errors.As(err, &problem) && problem.Code == "email_taken":
		d.Console.Say("   %s has been there since an earlier demo.", clinicName)
		return true, nil
	case err != nil:
		return false, err
	}
	err = d.Operator.Account(clinicProduct, session.AccessToken).Post(ctx, "/patients", map[string]any{
		"name": guestName, "phone": guestPhone, "email": guestEmail, "cpf": "529.982.247-25",
	}, nil)
	if err != nil {
		return false, err
	}
	d.Console.Say("   %s, with the patient %s. Its administrator logs in as %s with the password %s (shown this once).",
		clinicName, guestName, clinicEmail, password)
	return true, nil
}

// link connects the two, or finds them connected.
func (d *demo) link(ctx context.Context, c *connected) error {
	d.step("The two are linked: keys, a signing secret and webhooks in both directions, by one handshake over HTTP.",
		fmt.Sprintf("hub link %q %q", salonProduct+"/"+salonName, clinicProduct+"/"+clinicName))
	link, err := d.linkTenants(ctx, c.salon, c.clinic)
	c.link = link
	return err
}

// linkTenants connects two tenants, or finds them connected, and returns the integration of
// the first.
func (d *demo) linkTenants(ctx context.Context, tenant, peer string) (link string, err error) {
	linked, err := d.Operator.Link(ctx, client.LinkInput{TenantID: tenant, PeerTenantID: peer})
	if err != nil {
		return "", fmt.Errorf("linking two tenants: %w", err)
	}
	for _, integration := range linked.Value.Integrations {
		d.Console.Say("   %-10s → %-10s  %s", terminal.Printable(integration.OwnProduct), terminal.Printable(integration.Product), d.Console.Status(integration.Status))
		if integration.Status != "active" {
			return "", fmt.Errorf("the link of %s with %s is not in use: %s", integration.OwnProduct, integration.Product, integration.LastError)
		}
		if integration.TenantID == tenant {
			link = integration.ID
		}
	}
	return link, nil
}

// patientSearch is what the clinic answers a connected product that asks for a number.
type patientSearch struct {
	Patient *struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		CPF  string `json:"cpf"`
	} `json:"patient"`
}

// findGuest asks the clinic, as a connected product does, whose the guest's number is.
func (d *demo) findGuest(ctx context.Context, c *connected) error {
	d.removeLeftovers(ctx, c.clinic)
	reply, err := d.Operator.CreateKey(ctx, client.KeyInput{TenantID: c.clinic, Name: mark, Scopes: []string{"patient.search", "appointment.read"}})
	if err != nil {
		return fmt.Errorf("creating the clinic's key: %w", err)
	}
	d.undo = append(d.undo, func(ctx context.Context) error { return d.Operator.RevokeKey(ctx, reply.Value.ID) })
	c.searches = d.Operator.Account(clinicProduct, "").WithKey(reply.Value.APIKey)
	d.step("What a connected product sees of the clinic: who has a number, the tax id hidden.",
		fmt.Sprintf(`curl -sS -G %s/%s/api/v1/integrations/search/patients -H "X-Integration-Key: $KEY" --data-urlencode phone=%s`,
			d.Operator.Base(), clinicProduct, guestPhone))
	var found patientSearch
	if err := c.searches.Get(ctx, "/integrations/search/patients", url.Values{"phone": {guestPhone}}, &found); err != nil {
		return fmt.Errorf("asking the clinic for a patient: %w", err)
	}
	if found.Patient == nil {
		d.Console.Say("   Nobody: the patient of an earlier demo is not there any more.")
		return nil
	}
	c.patient = found.Patient.ID
	d.Console.Say("   %s  CPF %s", terminal.Printable(found.Patient.Name), terminal.Printable(found.Patient.CPF))
	return nil
}

// bookedGuest is the answer to a public booking.
type bookedGuest struct {
	ID           string    `json:"appointment_id"`
	Token        string    `json:"cancel_token"`
	StartAt      time.Time `json:"start_at"`
	Service      string    `json:"service"`
	Professional string    `json:"professional"`
}

// bookGuest books the first service on the first day that has room, at its last time.
func (d *demo) bookGuest(ctx context.Context, c *connected) (b bookedGuest, err error) {
	var services []struct {
		ID string `json:"id"`
	}
	public := "/public/book/" + salonSlug
	if err := c.public.Get(ctx, public+"/services", nil, &services); err != nil {
		return b, err
	}
	zone, err := time.LoadLocation(salonZone)
	if err != nil {
		return b, err
	}
	for day := 1; day <= 2*salonDays && len(services) > 0; day++ {
		var free slots
		date := d.Now().In(zone).AddDate(0, 0, day).Format(time.DateOnly)
		if err := c.public.Get(ctx, public+"/availability", url.Values{"service_id": {services[0].ID}, "date": {date}}, &free); err != nil {
			return b, err
		}
		if len(free.Slots) == 0 {
			continue
		}
		err := c.public.Post(ctx, public+"/appointments", map[string]any{
			"service_id": services[0].ID, "start_at": free.Slots[len(free.Slots)-1].StartAt,
			"client_name": guestName, "client_phone": guestPhone, "client_email": guestEmail,
		}, &b)
		b.StartAt = b.StartAt.In(zone)
		return b, err
	}
	return b, errors.New("the demo's organization has no time left in the next two weeks")
}
