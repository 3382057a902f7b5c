package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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

// linkedAccounts are the organization and the clinic, connected with each other.
type linkedAccounts struct {
	salon, clinic string         // tenants' ids
	link          string         // the salon's integration with the clinic
	public        client.Account // of the scheduling service, as a guest
	searches      client.Account // of the clinic, as a connected product
	patient       string         // id
}

// showClinic links a clinic with the demo's organization, where the hub hosts both, and
// follows a booking and its cancellation from one to the other.
func (d *demo) showClinic(ctx context.Context) error {
	exists, err := d.openClinic(ctx)
	if err != nil {
		return fmt.Errorf("opening the demo's clinic: %w", err)
	}
	salon, found, err := d.FindTenant(ctx, salonName, salonProduct)
	switch {
	case err != nil:
		return fmt.Errorf("finding the demo's organization: %w", err)
	case !exists || !found:
		return nil // the hub does not run both
	}
	c := &linkedAccounts{salon: salon, public: d.Operator.Account(salonProduct, "")}
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
func (d *demo) openClinic(ctx context.Context) (exists bool, err error) {
	d.step("A second product in the same hub, the clinic: its own accounts, data and keys.",
		fmt.Sprintf(`curl -sS %s/%s/api/v1/auth/register -H 'Content-Type: application/json' -d '{"clinic_name":%q,…}'`,
			d.Operator.Base(), clinicProduct, clinicName))
	password := strings.ToLower(rand.Text())
	var session struct {
		AccessToken string `json:"access_token"`
	}
	opened, err := d.openAccount(clinicName, func() error {
		return d.Operator.Account(clinicProduct, "").AsOperator().Post(ctx, "/auth/register", map[string]any{
			"clinic_name": clinicName, "name": "Demo", "email": clinicEmail, "password": password,
		}, &session)
	})
	if err != nil || opened != openedNow {
		return opened == openedEarlier, err
	}
	admin := d.Operator.Account(clinicProduct, session.AccessToken)
	d.sessions.clinic = &admin
	err = admin.Post(ctx, "/patients", map[string]any{
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
func (d *demo) link(ctx context.Context, c *linkedAccounts) error {
	d.step("The two are linked: keys, a signing secret and webhooks in both directions, by one handshake over HTTP.",
		fmt.Sprintf("hub link %q %q", salonProduct+"/"+salonName, clinicProduct+"/"+clinicName))
	link, err := d.linkTenants(ctx, c.salon, c.clinic)
	c.link = link
	return err
}

// patientSearch is the clinic's response to a search by phone number.
type patientSearch struct {
	Patient *struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		CPF  string `json:"cpf"`
	} `json:"patient"`
}

// findGuest searches the clinic for the guest's number, as a connected product.
func (d *demo) findGuest(ctx context.Context, c *linkedAccounts) error {
	key, err := d.createKey(ctx, c.clinic, "patient.search", "appointment.read")
	if err != nil {
		return err
	}
	c.searches = d.Operator.Account(clinicProduct, "").WithKey(key)
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

// bookedGuest is the response to a public booking.
type bookedGuest struct {
	ID           string    `json:"appointment_id"`
	Token        string    `json:"cancel_token"`
	StartAt      time.Time `json:"start_at"`
	Service      string    `json:"service"`
	Professional string    `json:"professional"`
}

// person is a client of the salon and a patient of the clinic.
type person struct{ name, phone, email string }

var guest = person{guestName, guestPhone, guestEmail}

// freeTime is a time at which the salon's first service can be booked.
type freeTime struct{ service, start string }

// findTime returns the last time of the first day with room, that many days ahead or later.
func (d *demo) findTime(ctx context.Context, days int) (found freeTime, err error) {
	var services []struct {
		ID string `json:"id"`
	}
	public, page := d.Operator.Account(salonProduct, ""), "/public/book/"+salonSlug
	if err := public.Get(ctx, page+"/services", nil, &services); err != nil {
		return found, err
	}
	zone, err := time.LoadLocation(salonZone)
	if err != nil {
		return found, err
	}
	for day := days; day < days+2*salonDays && len(services) > 0; day++ {
		var free slots
		date := d.Now().In(zone).AddDate(0, 0, day).Format(time.DateOnly)
		if err := public.Get(ctx, page+"/availability", url.Values{"service_id": {services[0].ID}, "date": {date}}, &free); err != nil {
			return found, err
		}
		if len(free.Slots) > 0 {
			return freeTime{services[0].ID, free.Slots[len(free.Slots)-1].StartAt}, nil
		}
	}
	return found, errors.New("the demo's organization has no time left in the next two weeks")
}

// book books a free time at the salon's booking page.
func (d *demo) book(ctx context.Context, p person, free freeTime) (b bookedGuest, err error) {
	err = d.Operator.Account(salonProduct, "").Post(ctx, "/public/book/"+salonSlug+"/appointments", map[string]any{
		"service_id": free.service, "start_at": free.start, "client_name": p.name, "client_phone": p.phone, "client_email": p.email,
	}, &b)
	if err != nil {
		return b, err
	}
	zone, err := time.LoadLocation(salonZone)
	b.StartAt = b.StartAt.In(zone)
	return b, err
}

// bookGuest books the next time for the guest.
func (d *demo) bookGuest(ctx context.Context) (bookedGuest, error) {
	free, err := d.findTime(ctx, 1)
	if err != nil {
		return bookedGuest{}, err
	}
	return d.book(ctx, guest, free)
}
