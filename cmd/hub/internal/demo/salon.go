package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"time"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// The organization that the demo makes in the scheduling service.
const (
	salonProduct = "scheduling"
	salonName    = "Demo Salon"
	salonSlug    = "demo-salon"
	salonEmail   = "demo@example.com"
	salonZone    = "America/Sao_Paulo" // as organizations have it that say nothing
	salonDays    = 7                   // that are booked, from tomorrow
	salonPerDay  = 2                   // bookings of each professional
)

// salonService is a service that the organization offers.
type salonService struct {
	Name            string  `json:"name"`
	Description     string  `json:"description"`
	DurationMinutes int     `json:"duration_minutes"`
	Price           float64 `json:"price"`
	Color           string  `json:"color"`
}

var salonServices = []salonService{
	{"Haircut", "Wash, cut and dry", 45, 80, "#3B82F6"},
	{"Color", "Full color with a treatment", 90, 220, "#EC4899"},
	{"Beard", "Trim with a hot towel", 30, 45, "#10B981"},
}

var salonStaff = []struct {
	name     string
	services []int // by their place
}{{"Ana", []int{0, 1}}, {"Bruno", []int{0, 2}}, {"Carla", []int{0, 1, 2}}}

var salonGuests = []string{
	"Marina Alves", "João Prado", "Lúcia Ramos", "Pedro Nunes", "Rita Campos", "Davi Moura", "Helena Dias", "Caio Rocha", "Sofia Lima", "Otávio Reis",
}

// salon is the organization as its owner has it.
type salon struct {
	owner         client.Account
	services      []string // ids
	professionals []string
}

// showSalon makes an organization with a week of bookings in the scheduling service,
// where the hub hosts it and there is none yet.
func (d *demo) showSalon(ctx context.Context) error {
	d.step("A product can also live in the hub. This one is the scheduling service: an organization signs up, and its clients book.",
		fmt.Sprintf(`curl -sS %s/%s/api/v1/auth/register -H 'Content-Type: application/json' -d '{"org_name":%q,"org_slug":%q,…}'`,
			d.Operator.Base(), salonProduct, salonName, salonSlug))
	password := strings.ToLower(rand.Text())
	var s *salon
	opened, err := d.openAccount(salonName, func() (err error) {
		s, err = d.openSalon(ctx, password)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("opening the demo's organization: %w", err)
	case opened == openedEarlier:
		d.showBookingPage()
		return nil
	case opened == notHosted:
		return nil
	}
	d.sessions.salon = &s.owner
	d.Console.Say("   %s: %d services, %d professionals. Its owner logs in as %s with the password %s (shown this once).",
		salonName, len(s.services), len(s.professionals), salonEmail, password)
	d.step("Clients book without an account; what is booked, nobody else is offered.",
		fmt.Sprintf(`curl -sS '%s/%s/api/v1/public/book/%s/availability?service_id=…&date=%s'`,
			d.Operator.Base(), salonProduct, salonSlug, d.Now().AddDate(0, 0, 1).Format(time.DateOnly)))
	booked, link, err := s.bookWeek(ctx, d.Now())
	if err != nil {
		return fmt.Errorf("booking a week: %w", err)
	}
	d.Console.Say("   %d bookings in the next %d days, each with its event appointment.created.", booked, salonDays)
	d.showBookingPage()
	d.Console.Say("   A client's own page  %s", terminal.Printable(link))
	return nil
}

func (d *demo) showBookingPage() {
	d.Console.Say("   Booking page         %s/book/%s", d.Operator.Base(), salonSlug)
}

// openSalon registers the organization and creates its services and professionals.
func (d *demo) openSalon(ctx context.Context, password string) (*salon, error) {
	var session struct {
		AccessToken string `json:"access_token"`
	}
	err := d.Operator.Account(salonProduct, "").AsOperator().Post(ctx, "/auth/register", map[string]any{
		"org_name": salonName, "org_slug": salonSlug, "name": "Demo", "email": salonEmail, "password": password,
	}, &session)
	if err != nil {
		return nil, err
	}
	s := &salon{owner: d.Operator.Account(salonProduct, session.AccessToken)}
	for _, service := range salonServices {
		id, err := s.create(ctx, "/services", service)
		if err != nil {
			return nil, err
		}
		s.services = append(s.services, id)
	}
	for _, person := range salonStaff {
		if err := s.addProfessional(ctx, person.name, person.services); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// create posts a resource and returns its id.
func (s *salon) create(ctx context.Context, path string, body any) (id string, err error) {
	var created struct {
		ID string `json:"id"`
	}
	err = s.owner.Post(ctx, path, body, &created)
	return created.ID, err
}

// addProfessional adds a professional who works every day but Sunday, from 9 to 18.
func (s *salon) addProfessional(ctx context.Context, name string, services []int) error {
	id, err := s.create(ctx, "/professionals", map[string]any{"name": name})
	if err != nil {
		return err
	}
	s.professionals = append(s.professionals, id)
	var serviceIDs []string
	for _, place := range services {
		serviceIDs = append(serviceIDs, s.services[place])
	}
	if err := s.owner.Put(ctx, "/professionals/"+id+"/services", map[string]any{"service_ids": serviceIDs}, nil); err != nil {
		return err
	}
	for day := range 6 {
		_, err := s.create(ctx, "/schedule-rules", map[string]any{
			"professional_id": id, "day_of_week": day, "start_time": "09:00", "end_time": "18:00", "break_start": "12:00", "break_end": "13:00",
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// slots are the free times of an answer.
type slots struct {
	Slots []struct {
		StartAt string `json:"start_at"`
	} `json:"slots"`
}

// bookWeek books as clients do. It returns how many bookings it made, and the page of the
// last.
func (s *salon) bookWeek(ctx context.Context, now time.Time) (booked int, link string, err error) {
	zone, err := time.LoadLocation(salonZone)
	if err != nil {
		return 0, "", err
	}
	for day := 1; day <= salonDays; day++ {
		date := now.In(zone).AddDate(0, 0, day).Format(time.DateOnly)
		for i, professional := range s.professionals {
			for n := range salonPerDay {
				service := s.services[salonStaff[i].services[n%len(salonStaff[i].services)]]
				page, err := s.book(ctx, service, professional, date, day*(i+2)+5*n, booked)
				if err != nil {
					return booked, link, err
				}
				if page != "" {
					booked, link = booked+1, page
				}
			}
		}
	}
	return booked, link, nil
}

// book takes one of a day's free times and returns the booking's page, "" where the day
// has none.
func (s *salon) book(ctx context.Context, service, professional, date string, pick, guest int) (page string, err error) {
	var free slots
	public := "/public/book/" + salonSlug
	err = s.owner.Get(ctx, public+"/availability", url.Values{"service_id": {service}, "professional_id": {professional}, "date": {date}}, &free)
	if err != nil || len(free.Slots) == 0 {
		return "", err
	}
	var created struct {
		CancelURL string `json:"cancel_url"`
	}
	err = s.owner.Post(ctx, public+"/appointments", map[string]any{
		"service_id": service, "professional_id": professional, "start_at": free.Slots[pick%len(free.Slots)].StartAt,
		"client_name": salonGuests[guest%len(salonGuests)], "client_phone": fmt.Sprintf("+55119876500%02d", guest%len(salonGuests)),
		"client_email": fmt.Sprintf("client%d@example.com", guest%len(salonGuests)),
	}, &created)
	return created.CancelURL, err
}
