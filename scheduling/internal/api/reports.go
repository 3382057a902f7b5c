package api

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// ReportQuery is what most reports are about.
type ReportQuery struct {
	Month          string `query:"month" doc:"YYYY-MM"`
	Period         string `query:"period" enum:"week,month,quarter,year" doc:"The one that today lies in; absent: the month"`
	ProfessionalID string `query:"professional_id" format:"uuid" doc:"Only this professional"`
}

// Span is what a report covers.
type Span struct {
	StartDate string `json:"start_date"`
	EndDate   string `json:"end_date"`
	Timezone  string `json:"timezone"`
}

// reportScope is a report's question, worked out.
type reportScope struct {
	org          store.Org
	period       string
	first, last  booking.Date
	since, until time.Time
	professional *uuid.UUID
}

func (s reportScope) toSpan() Span { return Span{s.first.String(), s.last.String(), s.org.Timezone} }

// periodBounds gives the first and last day of the period around a day, moved by some
// periods.
func periodBounds(period string, day booking.Date, moved int) (first, last booking.Date) {
	at := day.Time()
	begin := func(months int) booking.Date {
		start := int(at.Month()-1) / months * months
		return booking.NewDate(at.Year(), time.Month(start+1+moved*months), 1)
	}
	end := func(months int) booking.Date {
		start := int(at.Month()-1) / months * months
		return booking.NewDate(at.Year(), time.Month(start+1+(moved+1)*months), 1) - 1
	}
	switch period {
	case "week":
		first = day - booking.Date(day.Weekday()) + booking.Date(7*moved)
		return first, first + 6
	case "quarter":
		return begin(3), end(3)
	case "year":
		return begin(12), end(12)
	}
	return begin(1), end(1)
}

func (a *API) resolveScope(ctx context.Context, in *ReportQuery) (reportScope, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return reportScope{}, err
	}
	s := reportScope{org: org, period: in.Period}
	switch {
	case in.Month != "" && in.Period != "" && in.Period != "month":
		return s, hub.Invalid("query.period", "cannot be combined with month")
	case in.Month != "":
		s.period = "month"
		s.first, s.last, err = parseMonth(in.Month, a.host.Now(), org.Zone)
	default:
		s.first, s.last = periodBounds(in.Period, booking.DateOf(a.host.Now(), org.Zone), 0)
	}
	if err != nil {
		return s, err
	}
	s.since, s.until = dayBounds(s.first, s.last, org.Zone)
	if s.professional, err = parseOptionalID("query.professional_id", in.ProfessionalID); err != nil {
		return s, err
	}
	if s.professional != nil {
		err = a.requireKnownProfessional(ctx, org.ID, *s.professional)
	}
	return s, err
}

// requireKnownProfessional checks that a professional is the organization's, or was.
func (a *API) requireKnownProfessional(ctx context.Context, org, professional uuid.UUID) error {
	known, err := a.store.WasProfessional(ctx, org, professional)
	if err == nil && !known {
		return hub.NotFound("Professional")
	}
	return err
}

// rate is a share of a whole, 0 where there is none, to four decimals.
func rate(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return math.Round(min(1, float64(part)/float64(whole))*10000) / 10000
}

// Dashboard is the organization at a glance.
type Dashboard struct {
	AppointmentsToday int           `json:"appointments_today"`
	AppointmentsMonth int           `json:"appointments_month"`
	RevenueMonth      booking.Cents `json:"revenue_month"`
	OccupancyRate     float64       `json:"occupancy_rate"`
	NoshowRate        float64       `json:"noshow_rate"`
	NewClientsMonth   int           `json:"new_clients_month"`
	Span
}

func (d Dashboard) table() [][]any {
	return [][]any{
		{"appointments_today", "appointments_month", "revenue_month", "occupancy_rate", "noshow_rate", "new_clients_month"},
		{d.AppointmentsToday, d.AppointmentsMonth, d.RevenueMonth, d.OccupancyRate, d.NoshowRate, d.NewClientsMonth},
	}
}

func (a *API) getDashboard(ctx context.Context, in *ReportQuery) (Dashboard, error) {
	s, err := a.resolveScope(ctx, in)
	if err != nil {
		return Dashboard{}, err
	}
	today := booking.DateOf(a.host.Now(), s.org.Zone)
	day, tomorrow := dayBounds(today, today, s.org.Zone)
	counts, err := a.store.DashboardCounts(ctx, dbgen.DashboardCountsParams{
		OrgID: s.org.ID, Today: day, Tomorrow: tomorrow, Since: s.since, Until: s.until, ProfessionalID: s.professional,
	})
	if err != nil {
		return Dashboard{}, err
	}
	newClients, err := a.store.CountNewClients(ctx, dbgen.CountNewClientsParams{OrgID: s.org.ID, Since: s.since, Until: s.until})
	if err != nil {
		return Dashboard{}, err
	}
	revenue, err := a.sumRevenue(ctx, s)
	if err != nil {
		return Dashboard{}, err
	}
	people, err := a.measureOccupancy(ctx, s)
	available, booked := sumMinutes(people)
	return Dashboard{
		AppointmentsToday: counts.Today, AppointmentsMonth: counts.Month, RevenueMonth: revenue, OccupancyRate: rate(booked, available),
		NoshowRate: rate(int64(counts.NoShows), int64(counts.NoShows+counts.Completed)), NewClientsMonth: newClients, Span: s.toSpan(),
	}, err
}

// sumRevenue is what was taken in. Without a professional no appointment is looked at.
func (a *API) sumRevenue(ctx context.Context, s reportScope) (revenue booking.Cents, err error) {
	if s.professional == nil {
		total, err := a.store.TakingsTotal(ctx, dbgen.TakingsTotalParams{OrgID: s.org.ID, Since: s.since, Until: s.until})
		return booking.Cents(total), err
	}
	takings, err := a.loadTakings(ctx, s, s.since, s.until)
	for _, t := range takings {
		revenue += booking.Cents(t.Amount)
	}
	return revenue, err
}

// Occupied is how much of a professional's time is booked.
type Occupied struct {
	ProfessionalID   uuid.UUID `json:"professional_id"`
	ProfessionalName string    `json:"professional_name"`
	AvailableMinutes int64     `json:"available_minutes"`
	BookedMinutes    int64     `json:"booked_minutes"`
	Appointments     int       `json:"appointments"`
	OccupancyRate    float64   `json:"occupancy_rate"`
}

// OccupancyReport is how much of everybody's time is booked.
type OccupancyReport struct {
	OverallRate   float64    `json:"overall_rate"`
	Professionals []Occupied `json:"professionals" nullable:"false"`
	Span
}

func (o OccupancyReport) table() [][]any {
	rows := [][]any{{"professional_id", "professional_name", "available_minutes", "booked_minutes", "appointments", "occupancy_rate"}}
	for _, p := range o.Professionals {
		rows = append(rows, []any{p.ProfessionalID, p.ProfessionalName, p.AvailableMinutes, p.BookedMinutes, p.Appointments, p.OccupancyRate})
	}
	return rows
}

func sumMinutes(people []Occupied) (available, booked int64) {
	for _, p := range people {
		available, booked = available+p.AvailableMinutes, booked+p.BookedMinutes
	}
	return available, booked
}

// measureOccupancy measures everybody's time, holds left out; that of who was removed until the
// day they were.
func (a *API) measureOccupancy(ctx context.Context, s reportScope) ([]Occupied, error) {
	rows, err := a.store.ReportPeople(ctx, dbgen.ReportPeopleParams{OrgID: s.org.ID, Since: s.since, ID: s.professional})
	if err != nil {
		return nil, err
	}
	ids := rest.Map(rows, func(r dbgen.ReportPeopleRow) uuid.UUID { return r.ID })
	weeks, err := a.store.LoadWeeks(ctx, s.org.ID, ids, s.first, s.last)
	if err != nil {
		return nil, err
	}
	never := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) // no hold lasts until then
	counts := make(map[uuid.UUID]int, len(ids))
	taken := store.BusyQuery{Org: s.org.ID, Professionals: ids, Since: s.since, Until: s.until, Now: never}
	err = a.store.EachBusy(ctx, taken, s.org.Policy, func(id uuid.UUID, b booking.Busy) {
		weeks[id].Busy = append(weeks[id].Busy, b)
		if !b.Start.Before(s.since) {
			counts[id]++
		}
	})
	if err != nil {
		return nil, err
	}
	return rest.Map(rows, func(r dbgen.ReportPeopleRow) Occupied {
		c, last := weeks[r.ID], s.last
		if r.DeletedAt != nil {
			last = min(last, booking.DateOf(*r.DeletedAt, s.org.Zone))
		}
		available, booked := booking.Occupancy(s.org.Zone, s.first, last, c.Rules, c.Exceptions, c.Busy)
		return Occupied{r.ID, r.Name, available, booked, counts[r.ID], rate(booked, available)}
	}), nil
}

func (a *API) getOccupancy(ctx context.Context, in *ReportQuery) (OccupancyReport, error) {
	s, err := a.resolveScope(ctx, in)
	if err != nil {
		return OccupancyReport{}, err
	}
	people, err := a.measureOccupancy(ctx, s)
	available, booked := sumMinutes(people)
	return OccupancyReport{rate(booked, available), people, s.toSpan()}, err
}

// NoshowReport is how often clients did not come.
type NoshowReport struct {
	Total         int             `json:"total" doc:"Completed and missed appointments"`
	NoshowCount   int             `json:"noshow_count"`
	NoshowRate    float64         `json:"noshow_rate"`
	EstimatedLoss booking.Cents   `json:"estimated_loss"`
	Professionals []Missed        `json:"professionals" nullable:"false"`
	ByWeekday     []MissedWeekday `json:"by_weekday" nullable:"false" doc:"Monday first"`
	Span
}

// Missed is how often clients of a professional did not come.
type Missed struct {
	ProfessionalID   uuid.UUID `json:"professional_id"`
	ProfessionalName string    `json:"professional_name"`
	Total            int       `json:"total"`
	NoshowCount      int       `json:"noshow_count"`
	NoshowRate       float64   `json:"noshow_rate"`
}

// MissedWeekday is how often clients did not come on a weekday.
type MissedWeekday struct {
	DayOfWeek   int     `json:"day_of_week"`
	Total       int     `json:"total"`
	NoshowCount int     `json:"noshow_count"`
	NoshowRate  float64 `json:"noshow_rate"`
}

func (r NoshowReport) table() [][]any {
	rows := [][]any{{"professional_id", "professional_name", "total", "noshow_count", "noshow_rate"}}
	for _, p := range r.Professionals {
		rows = append(rows, []any{p.ProfessionalID, p.ProfessionalName, p.Total, p.NoshowCount, p.NoshowRate})
	}
	return rows
}

func (a *API) getNoShows(ctx context.Context, in *ReportQuery) (NoshowReport, error) {
	s, err := a.resolveScope(ctx, in)
	if err != nil {
		return NoshowReport{}, err
	}
	rows, err := a.store.Attendance(ctx, dbgen.AttendanceParams{OrgID: s.org.ID, Zone: s.org.Timezone, Since: s.since, Until: s.until, ProfessionalID: s.professional})
	r := NoshowReport{Professionals: []Missed{}, ByWeekday: make([]MissedWeekday, 7), Span: s.toSpan()}
	for i := range r.ByWeekday {
		r.ByWeekday[i].DayOfWeek = i
	}
	for _, row := range rows {
		if n := len(r.Professionals); n == 0 || r.Professionals[n-1].ProfessionalID != row.ProfessionalID {
			r.Professionals = append(r.Professionals, Missed{ProfessionalID: row.ProfessionalID, ProfessionalName: row.Name})
		}
		p, d := &r.Professionals[len(r.Professionals)-1], &r.ByWeekday[row.Weekday]
		r.Total, p.Total, d.Total = r.Total+row.Total, p.Total+row.Total, d.Total+row.Total
		r.NoshowCount, p.NoshowCount, d.NoshowCount = r.NoshowCount+row.NoShows, p.NoshowCount+row.NoShows, d.NoshowCount+row.NoShows
		r.EstimatedLoss += booking.Cents(row.Lost)
		p.NoshowRate, d.NoshowRate = rate(int64(p.NoshowCount), int64(p.Total)), rate(int64(d.NoshowCount), int64(d.Total))
	}
	r.NoshowRate = rate(int64(r.NoshowCount), int64(r.Total))
	return r, err
}

// Inactive is a client who has not come for long.
type Inactive struct {
	ClientID          uuid.UUID     `json:"client_id"`
	Name              string        `json:"name"`
	Phone             *string       `json:"phone"`
	Email             *string       `json:"email"`
	LastAppointmentAt *time.Time    `json:"last_appointment_at"`
	DaysInactive      int           `json:"days_inactive"`
	TotalAppointments int           `json:"total_appointments"`
	TotalSpent        booking.Cents `json:"total_spent"`
	FavoriteService   string        `json:"favorite_service"`
}

// InactiveReport is a page of them.
type InactiveReport struct {
	Page[Inactive]
	Days int `json:"days"`
	Span
}

func (r InactiveReport) table() [][]any {
	rows := [][]any{{"client_id", "name", "phone", "email", "last_appointment_at", "days_inactive", "total_appointments", "total_spent", "favorite_service"}}
	for _, c := range r.Items {
		rows = append(rows, []any{c.ClientID, c.Name, c.Phone, c.Email, c.LastAppointmentAt, c.DaysInactive, c.TotalAppointments, c.TotalSpent, c.FavoriteService})
	}
	return rows
}

type inactiveInput struct {
	Paging
	Days int `query:"days" minimum:"0" maximum:"3650" doc:"Absent: as the settings say"`
}

func (a *API) getInactive(ctx context.Context, in *inactiveInput) (InactiveReport, error) {
	return a.findInactive(ctx, in, false)
}

// findInactive lists those who have not come for long, of all clients or of those who
// agreed to be written to.
func (a *API) findInactive(ctx context.Context, in *inactiveInput, consented bool) (InactiveReport, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return InactiveReport{}, err
	}
	if in.Days == 0 {
		in.Days = org.Settings.InactiveAfterDays
	}
	now := a.host.Now()
	rows, err := a.store.Inactive(ctx, dbgen.InactiveParams{OrgID: org.ID, Consented: consented, Now: now, Before: now.AddDate(0, 0, -in.Days), RowLimit: in.PerPage, RowOffset: in.Offset()})
	if err != nil {
		return InactiveReport{}, err
	}
	today, total := booking.DateOf(now, org.Zone), 0
	items := rest.Map(rows, func(r dbgen.InactiveRow) Inactive {
		total = int(r.Total)
		since := r.LastAt
		if since.IsZero() {
			since = r.CreatedAt
		}
		return Inactive{
			ClientID: r.ID, Name: r.Name, Phone: r.Phone, Email: r.Email, LastAppointmentAt: inZone(&r.LastAt, org.Zone),
			DaysInactive: int(today - booking.DateOf(since, org.Zone)), TotalAppointments: r.TotalAppointments, TotalSpent: r.TotalSpentCents, FavoriteService: r.Favorite,
		}
	})
	if len(rows) == 0 && in.Page > 1 {
		total, err = a.store.CountInactive(ctx, dbgen.CountInactiveParams{OrgID: org.ID, Consented: consented, Now: now, Before: now.AddDate(0, 0, -in.Days)})
	}
	return InactiveReport{rest.NewPage(items, total, in.Paging), in.Days, Span{(today - booking.Date(in.Days)).String(), today.String(), org.Timezone}}, err
}

// PopularService is how often a service is booked.
type PopularService struct {
	ServiceID    uuid.UUID     `json:"service_id"`
	Name         string        `json:"name"`
	Appointments int           `json:"appointments"`
	Revenue      booking.Cents `json:"revenue"`
	Share        float64       `json:"share" doc:"Of all appointments"`
}

// PopularReport is the most booked services.
type PopularReport struct {
	Items []PopularService `json:"items" nullable:"false"`
	Span
}

func (r PopularReport) table() [][]any {
	rows := [][]any{{"service_id", "name", "appointments", "revenue", "share"}}
	for _, s := range r.Items {
		rows = append(rows, []any{s.ServiceID, s.Name, s.Appointments, s.Revenue, s.Share})
	}
	return rows
}

type popularInput struct {
	ReportQuery
	Limit int `query:"limit" minimum:"1" maximum:"50" default:"10"`
}

func (a *API) getPopular(ctx context.Context, in *popularInput) (PopularReport, error) {
	s, err := a.resolveScope(ctx, &in.ReportQuery)
	if err != nil {
		return PopularReport{}, err
	}
	rows, err := a.store.Popular(ctx, dbgen.PopularParams{OrgID: s.org.ID, Since: s.since, Until: s.until, ProfessionalID: s.professional, RowLimit: in.Limit})
	return PopularReport{rest.Map(rows, func(r dbgen.PopularRow) PopularService {
		return PopularService{r.ServiceID, r.Name, r.Appointments, booking.Cents(r.Revenue), rate(int64(r.Appointments), r.Total)}
	}), s.toSpan()}, err
}
