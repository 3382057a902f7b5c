package scheduling

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
)

// Sizes.
const (
	staffCount        = 50
	clientCount       = 5_000
	monthAppointments = 10_000
	yearAppointments  = 100_000
	timeZone          = "America/Sao_Paulo" // the default of new organizations
)

// insertStaff adds professionals who work on weekdays from 9 to 18.
const insertStaff = `
	with people as (
		insert into scheduling.professionals (org_id, id, name, position)
		select $1::uuid, gen_random_uuid(), 'Professional ' || n, n from generate_series(2, $3::int) n returning id
	), gives as (
		insert into scheduling.professional_services (org_id, professional_id, service_id) select $1, id, $2::uuid from people
	) insert into scheduling.schedule_rules (org_id, id, professional_id, day_of_week, start_minute, end_minute, break_start_minute, break_end_minute)
	select $1, gen_random_uuid(), id, d, 540, 1080, 720, 780 from people, generate_series(0, 4) d`

const insertClients = `
	insert into scheduling.clients (org_id, id, name, phone, phone_e164, created_at)
	select $1::uuid, gen_random_uuid(), 'Client ' || n, '+55119' || lpad(n::text, 8, '0'), '+55119' || lpad(n::text, 8, '0'), now() - n * interval '2 hours'
	from generate_series(1, $2::int) n`

// insertBookings spreads appointments over the weekdays of a range of dates, day by
// day: every professional has one every 45 minutes. Nine tenths of the past ones are completed.
const insertBookings = `
	insert into scheduling.appointments (org_id, id, client_id, professional_id, service_id, start_at, end_at, price_cents, status, source,
		completed_at, no_show_at, cancelled_at, cancelled_by, paid_cents)
	select $1::uuid, gen_random_uuid(), c.ids[1 + n % cardinality(c.ids)], professional, $2::uuid, at, at + interval '30 minutes', 8000, status, 'web',
		case status when 'completed' then at end, case status when 'no_show' then at end, case status when 'cancelled' then at end,
		case status when 'cancelled' then 'client' end, case status when 'completed' then 8000 else 0 end
	from (select array_agg(id) as ids from scheduling.clients where org_id = $1) c,
	lateral (
		select row_number() over (order by day, k, p.id) as n, p.id as professional,
			(day + time '09:00' + k * interval '45 minutes') at time zone $6::text as at
		from generate_series($3::date, $4::date, interval '1 day') day, generate_series(0, $7::int - 1) k, scheduling.professionals p
		where p.org_id = $1 and extract(isodow from day) < 6) planned,
	lateral (select case when at > now() then 'scheduled' when n % 20 = 0 then 'no_show' when n % 20 = 1 then 'cancelled' else 'completed' end as status) s
	where n <= $5::int`

const insertBookingPayments = `
	insert into scheduling.payments (org_id, id, appointment_id, client_id, amount_cents, method, status, paid_at)
	select org_id, gen_random_uuid(), id, client_id, 8000, (array['pix', 'cash', 'credit_card'])[1 + abs(hashtext(id::text)) % 3], 'paid', completed_at
	from scheduling.appointments where org_id = $1 and status = 'completed'`

// setUp registers the organizations through the API, and fills them by SQL.
func (c *bookingClient) setUp(ctx context.Context, databaseURL string) error {
	zone, err := time.LoadLocation(timeZone)
	if err != nil {
		return fmt.Errorf("loading a time zone: %w", err)
	}
	now := time.Now().In(zone)
	next := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, zone)
	c.workday = next.AddDate(0, 0, 7)
	for c.workday.Weekday() != time.Wednesday {
		c.workday = c.workday.AddDate(0, 0, 1)
	}
	for _, registration := range []struct {
		organization *organization
		slug, from   string
	}{{&c.month, "bench-month", "09:00"}, {&c.year, "bench-year", "09:00"}, {&c.contested, "bench-fought", "00:00"}} {
		if err := c.register(ctx, registration.organization, registration.slug, registration.from); err != nil {
			return err
		}
	}
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connecting to the hub's database: %w", err)
	}
	defer conn.Close(ctx)
	days := func(t time.Time) string { return t.Format(time.DateOnly) }
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{insertStaff, []any{c.month.id, c.month.service, staffCount}},
		{insertStaff, []any{c.year.id, c.year.service, staffCount}},
		{insertClients, []any{c.month.id, clientCount}},
		{insertClients, []any{c.year.id, clientCount}},
		{insertBookings, []any{c.month.id, c.month.service, days(next), days(next.AddDate(0, 1, -1)), monthAppointments, timeZone, 10}},
		{insertBookings, []any{c.year.id, c.year.service, fmt.Sprintf("%d-01-01", now.Year()), fmt.Sprintf("%d-12-31", now.Year()), yearAppointments, timeZone, 8}},
		{insertBookingPayments, []any{c.year.id}},
		{`vacuum analyze`, nil},
	} {
		if _, err := conn.Exec(ctx, step.sql, step.args...); err != nil {
			return fmt.Errorf("filling the organizations: %w", err)
		}
	}
	var month, year int
	err = conn.QueryRow(ctx, `select count(*) filter (where org_id = $1), count(*) filter (where org_id = $2) from scheduling.appointments`, c.month.id, c.year.id).Scan(&month, &year)
	if err == nil && (month != monthAppointments || year != yearAppointments) {
		err = fmt.Errorf("there are %d and %d appointments", month, year)
	}
	if err != nil {
		return fmt.Errorf("filling the organizations: %w", err)
	}
	return nil
}

// register makes an organization with a service of half an hour and a professional who
// works every day from a time on until 23:59.
func (c *bookingClient) register(ctx context.Context, o *organization, slug, from string) error {
	o.slug = slug
	registered, err := c.create(ctx, "/auth/register", "", map[string]any{
		"org_name": slug, "org_slug": slug, "name": "Bench", "email": slug + "@example.com", "password": "correct horse battery",
	})
	if err != nil {
		return err
	}
	o.token, o.id = registered.AccessToken, registered.Organization.ID
	service, err := c.create(ctx, "/services", o.token, map[string]any{"name": "Cut", "duration_minutes": 30, "price": 80, "slot_interval_minutes": 15})
	if err != nil {
		return err
	}
	professional, err := c.create(ctx, "/professionals", o.token, map[string]any{"name": "Professional 1"})
	if err != nil {
		return err
	}
	o.service, o.professional = service.ID, professional.ID
	status, raw, _, err := c.send(ctx, http.MethodPut, basePath+"/professionals/"+o.professional+"/services", o.token, map[string]any{"service_ids": []string{o.service}})
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("assigning a service: %d: %s", status, raw)
	}
	for day := 0; day < 7 && err == nil; day++ {
		_, err = c.create(ctx, "/schedule-rules", o.token, map[string]any{"professional_id": o.professional, "day_of_week": day, "start_time": from, "end_time": "23:59"})
	}
	return err
}

// created is the response of a POST, as far as it is read.
type created struct {
	ID           string `json:"id"`
	AccessToken  string `json:"access_token"`
	Organization struct {
		ID string `json:"id"`
	} `json:"organization"`
}

// create makes a resource with a POST.
func (c *bookingClient) create(ctx context.Context, path, token string, body any) (response created, err error) {
	status, raw, _, err := c.send(ctx, http.MethodPost, basePath+path, token, body)
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("posting to %s: %d: %s", path, status, raw)
	}
	if err != nil {
		return response, err
	}
	if err := json.Unmarshal(raw, &response); err != nil {
		return response, fmt.Errorf("reading the response of %s: %w", path, err)
	}
	return response, nil
}
