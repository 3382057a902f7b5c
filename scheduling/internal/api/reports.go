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
)

// ReportQuery holds the query parameters of most reports.
type ReportQuery struct {
	Month          string `query:"month" pattern:"^[0-9]{4}-[0-9]{2}$" doc:"YYYY-MM"`
	Period         string `query:"period" enum:"week,month,quarter,year" doc:"The one that today lies in; absent: the month"`
	ProfessionalID string `query:"professional_id" format:"uuid" doc:"Only this professional"`
}

// Span is the period of a report.
type Span struct {
	StartDate string `json:"start_date" doc:"First day of the period"`
	EndDate   string `json:"end_date" doc:"Last day of the period"`
	Timezone  string `json:"timezone" doc:"IANA zone that days and times are counted in"`
}

// reportScope is a validated report query.
type reportScope struct {
	store.ReportScope
	period      string
	first, last booking.Date
}

func (scope reportScope) toSpan() Span {
	return Span{scope.first.String(), scope.last.String(), scope.Org.Timezone}
}

// periodBounds returns the first and last day of the period around a day, shifted by
// offset periods.
func periodBounds(period string, day booking.Date, offset int) (first, last booking.Date) {
	date := day.Time()
	begin := func(months int) booking.Date {
		start := int(date.Month()-1) / months * months
		return booking.NewDate(date.Year(), time.Month(start+1+offset*months), 1)
	}
	end := func(months int) booking.Date {
		start := int(date.Month()-1) / months * months
		return booking.NewDate(date.Year(), time.Month(start+1+(offset+1)*months), 1) - 1
	}
	switch period {
	case "week":
		first = day - booking.Date(day.Weekday()) + booking.Date(7*offset)
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
	scope := reportScope{ReportScope: store.ReportScope{Org: org}, period: in.Period}
	switch {
	case in.Month != "" && in.Period != "" && in.Period != "month":
		return scope, hub.Invalid("query.period", "cannot be combined with month")
	case in.Month != "":
		scope.period = "month"
		scope.first, scope.last, err = parseMonth(in.Month, a.host.Now(), org.Zone)
	default:
		scope.first, scope.last = periodBounds(in.Period, booking.DateOf(a.host.Now(), org.Zone), 0)
	}
	if err != nil {
		return scope, err
	}
	scope.Since, scope.Until = dayBounds(scope.first, scope.last, org.Zone)
	if scope.Professional, err = parseOptionalID("query.professional_id", in.ProfessionalID); err != nil {
		return scope, err
	}
	if scope.Professional != nil {
		err = a.requireKnownProfessional(ctx, org.ID, *scope.Professional)
	}
	return scope, err
}

// requireKnownProfessional returns a 404 error unless the professional belongs or belonged
// to the organization.
func (a *API) requireKnownProfessional(ctx context.Context, org, professional uuid.UUID) error {
	exists, err := a.store.ProfessionalEverExisted(ctx, org, professional)
	if err == nil && !exists {
		return hub.NotFound("Professional")
	}
	return err
}

// rate returns part/whole rounded to four decimals, at most 1. It is 0 if whole is 0.
func rate(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return math.Round(min(1, float64(part)/float64(whole))*10000) / 10000
}

// Dashboard holds the key figures of an organization.
type Dashboard struct {
	AppointmentsToday int           `json:"appointments_today" doc:"How many of today are not cancelled"`
	AppointmentsMonth int           `json:"appointments_month" doc:"How many of the period are not cancelled"`
	RevenueMonth      booking.Cents `json:"revenue_month" doc:"What came in, less refunds"`
	OccupancyRate     float64       `json:"occupancy_rate" doc:"Booked part of the working time, 0 to 1"`
	NoshowRate        float64       `json:"noshow_rate" doc:"Missed ones among those completed or missed, 0 to 1"`
	NewClientsMonth   int           `json:"new_clients_month" doc:"How many were added in the period"`
	Span
}

func (d Dashboard) table() [][]any {
	return [][]any{
		{"appointments_today", "appointments_month", "revenue_month", "occupancy_rate", "noshow_rate", "new_clients_month"},
		{d.AppointmentsToday, d.AppointmentsMonth, d.RevenueMonth, d.OccupancyRate, d.NoshowRate, d.NewClientsMonth},
	}
}

func (a *API) getDashboard(ctx context.Context, in *ReportQuery) (Dashboard, error) {
	scope, err := a.resolveScope(ctx, in)
	if err != nil {
		return Dashboard{}, err
	}
	today := booking.DateOf(a.host.Now(), scope.Org.Zone)
	day, tomorrow := dayBounds(today, today, scope.Org.Zone)
	counts, err := a.store.CountForDashboard(ctx, scope.ReportScope, day, tomorrow)
	if err != nil {
		return Dashboard{}, err
	}
	newClients, err := a.store.CountClientsCreated(ctx, scope.ReportScope)
	if err != nil {
		return Dashboard{}, err
	}
	revenue, err := a.sumRevenue(ctx, scope)
	if err != nil {
		return Dashboard{}, err
	}
	professionals, err := a.measureOccupancy(ctx, scope)
	available, booked := sumMinutes(professionals)
	return Dashboard{
		AppointmentsToday: counts.Today, AppointmentsMonth: counts.Month, RevenueMonth: revenue, OccupancyRate: rate(booked, available),
		NoshowRate: rate(int64(counts.NoShows), int64(counts.NoShows+counts.Completed)), NewClientsMonth: newClients, Span: scope.toSpan(),
	}, err
}

// sumRevenue returns the revenue of a report's period. Without a professional it reads no
// appointments.
func (a *API) sumRevenue(ctx context.Context, scope reportScope) (revenue booking.Cents, err error) {
	if scope.Professional == nil {
		return a.store.TotalRevenue(ctx, scope.ReportScope)
	}
	days, err := a.loadRevenue(ctx, scope, scope.Since, scope.Until)
	for _, day := range days {
		revenue += booking.Cents(day.Amount)
	}
	return revenue, err
}

// ProfessionalOccupancy is a professional's occupancy.
type ProfessionalOccupancy struct {
	ProfessionalID   uuid.UUID `json:"professional_id" doc:"Professional who does it"`
	ProfessionalName string    `json:"professional_name" doc:"How the professional is called; those removed too"`
	AvailableMinutes int64     `json:"available_minutes" doc:"Working time in the period"`
	BookedMinutes    int64     `json:"booked_minutes" doc:"Time with appointments"`
	Appointments     int       `json:"appointments" doc:"How many there were"`
	OccupancyRate    float64   `json:"occupancy_rate" doc:"Booked part of the working time, 0 to 1"`
}

// OccupancyReport is the occupancy of all professionals.
type OccupancyReport struct {
	OverallRate   float64                 `json:"overall_rate" doc:"Booked part of everybody's working time, 0 to 1"`
	Professionals []ProfessionalOccupancy `json:"professionals" nullable:"false" doc:"Each one's part"`
	Span
}

func (o OccupancyReport) table() [][]any {
	rows := [][]any{{"professional_id", "professional_name", "available_minutes", "booked_minutes", "appointments", "occupancy_rate"}}
	for _, p := range o.Professionals {
		rows = append(rows, []any{p.ProfessionalID, p.ProfessionalName, p.AvailableMinutes, p.BookedMinutes, p.Appointments, p.OccupancyRate})
	}
	return rows
}

func sumMinutes(professionals []ProfessionalOccupancy) (available, booked int64) {
	for _, professional := range professionals {
		available, booked = available+professional.AvailableMinutes, booked+professional.BookedMinutes
	}
	return available, booked
}

// measureOccupancy computes each professional's occupancy without holds. A removed
// professional counts until the day of removal.
func (a *API) measureOccupancy(ctx context.Context, scope reportScope) ([]ProfessionalOccupancy, error) {
	rows, err := a.store.ProfessionalsInReport(ctx, scope.ReportScope)
	if err != nil {
		return nil, err
	}
	ids := rest.Map(rows, func(row store.ReportProfessional) uuid.UUID { return row.ID })
	weeks, err := a.store.LoadWeeks(ctx, scope.Org.ID, ids, scope.first, scope.last)
	if err != nil {
		return nil, err
	}
	never := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) // no hold lasts until then
	counts := make(map[uuid.UUID]int, len(ids))
	query := store.BusyQuery{Org: scope.Org.ID, Professionals: ids, Since: scope.Since, Until: scope.Until, Now: never}
	err = a.store.EachBusy(ctx, query, scope.Org.Policy, func(id uuid.UUID, busy booking.Busy) {
		weeks[id].Busy = append(weeks[id].Busy, busy)
		if !busy.Start.Before(scope.Since) {
			counts[id]++
		}
	})
	if err != nil {
		return nil, err
	}
	return rest.Map(rows, func(row store.ReportProfessional) ProfessionalOccupancy {
		week, last := weeks[row.ID], scope.last
		if row.DeletedAt != nil {
			last = min(last, booking.DateOf(*row.DeletedAt, scope.Org.Zone))
		}
		available, booked := booking.Occupancy(scope.Org.Zone, scope.first, last, week.Rules, week.Exceptions, week.Busy)
		return ProfessionalOccupancy{row.ID, row.Name, available, booked, counts[row.ID], rate(booked, available)}
	}), nil
}

func (a *API) getOccupancy(ctx context.Context, in *ReportQuery) (OccupancyReport, error) {
	scope, err := a.resolveScope(ctx, in)
	if err != nil {
		return OccupancyReport{}, err
	}
	professionals, err := a.measureOccupancy(ctx, scope)
	available, booked := sumMinutes(professionals)
	return OccupancyReport{rate(booked, available), professionals, scope.toSpan()}, err
}

// NoshowReport counts no-shows.
type NoshowReport struct {
	Total         int                   `json:"total" doc:"Completed and missed appointments"`
	NoshowCount   int                   `json:"noshow_count" doc:"Appointments that the client missed"`
	NoshowRate    float64               `json:"noshow_rate" doc:"Missed ones among those completed or missed, 0 to 1"`
	EstimatedLoss booking.Cents         `json:"estimated_loss" doc:"Prices of the missed ones"`
	Professionals []ProfessionalNoShows `json:"professionals" nullable:"false" doc:"Each one's part"`
	ByWeekday     []WeekdayNoShows      `json:"by_weekday" nullable:"false" doc:"Monday first"`
	Span
}

// ProfessionalNoShows counts the no-shows of a professional.
type ProfessionalNoShows struct {
	ProfessionalID   uuid.UUID `json:"professional_id" doc:"Professional who does it"`
	ProfessionalName string    `json:"professional_name" doc:"How the professional is called; those removed too"`
	Total            int       `json:"total" doc:"Completed and missed appointments"`
	NoshowCount      int       `json:"noshow_count" doc:"Appointments that the client missed"`
	NoshowRate       float64   `json:"noshow_rate" doc:"Missed ones among those completed or missed, 0 to 1"`
}

// WeekdayNoShows counts the no-shows of a weekday.
type WeekdayNoShows struct {
	DayOfWeek   int     `json:"day_of_week" doc:"0 = Monday to 6 = Sunday"`
	Total       int     `json:"total" doc:"Completed and missed appointments"`
	NoshowCount int     `json:"noshow_count" doc:"Appointments that the client missed"`
	NoshowRate  float64 `json:"noshow_rate" doc:"Missed ones among those completed or missed, 0 to 1"`
}

func (r NoshowReport) table() [][]any {
	rows := [][]any{{"professional_id", "professional_name", "total", "noshow_count", "noshow_rate"}}
	for _, p := range r.Professionals {
		rows = append(rows, []any{p.ProfessionalID, p.ProfessionalName, p.Total, p.NoshowCount, p.NoshowRate})
	}
	return rows
}

func (a *API) getNoShows(ctx context.Context, in *ReportQuery) (NoshowReport, error) {
	scope, err := a.resolveScope(ctx, in)
	if err != nil {
		return NoshowReport{}, err
	}
	rows, err := a.store.WeekdayAttendances(ctx, scope.ReportScope)
	report := NoshowReport{Professionals: []ProfessionalNoShows{}, ByWeekday: make([]WeekdayNoShows, 7), Span: scope.toSpan()}
	for i := range report.ByWeekday {
		report.ByWeekday[i].DayOfWeek = i
	}
	for _, row := range rows {
		if n := len(report.Professionals); n == 0 || report.Professionals[n-1].ProfessionalID != row.ProfessionalID {
			report.Professionals = append(report.Professionals, ProfessionalNoShows{ProfessionalID: row.ProfessionalID, ProfessionalName: row.Name})
		}
		professional, weekday := &report.Professionals[len(report.Professionals)-1], &report.ByWeekday[row.Weekday]
		report.Total, professional.Total, weekday.Total = report.Total+row.Total, professional.Total+row.Total, weekday.Total+row.Total
		report.NoshowCount, professional.NoshowCount, weekday.NoshowCount = report.NoshowCount+row.NoShows, professional.NoshowCount+row.NoShows, weekday.NoshowCount+row.NoShows
		report.EstimatedLoss += booking.Cents(row.Lost)
		professional.NoshowRate, weekday.NoshowRate = rate(int64(professional.NoshowCount), int64(professional.Total)), rate(int64(weekday.NoshowCount), int64(weekday.Total))
	}
	report.NoshowRate = rate(int64(report.NoshowCount), int64(report.Total))
	return report, err
}

// InactiveClient is a client without a recent appointment.
type InactiveClient struct {
	ClientID          uuid.UUID     `json:"client_id" doc:"Names the client"`
	Name              string        `json:"name" doc:"How the client is called"`
	Phone             *string       `json:"phone" doc:"In international form, +5511987654321; null: none"`
	Email             *string       `json:"email" doc:"E-mail address; null: none"`
	LastAppointmentAt *time.Time    `json:"last_appointment_at" doc:"Latest visit; null: none"`
	DaysInactive      int           `json:"days_inactive" doc:"How many days ago that was"`
	TotalAppointments int           `json:"total_appointments" doc:"How many were completed"`
	TotalSpent        booking.Cents `json:"total_spent" doc:"Sum of what was paid, less refunds"`
	FavoriteService   string        `json:"favorite_service" doc:"Booked most often; empty: none"`
}

// InactiveReport is a page of inactive clients.
type InactiveReport struct {
	Page[InactiveClient]
	Days int `json:"days" doc:"Since the last visit"`
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
	Days int `query:"days" minimum:"1" maximum:"3650" doc:"Absent: as the settings say"`
}

func (a *API) getInactive(ctx context.Context, in *inactiveInput) (InactiveReport, error) {
	return a.findInactive(ctx, in, false)
}

// findInactive lists inactive clients: all, or only those with marketing consent.
func (a *API) findInactive(ctx context.Context, in *inactiveInput, consented bool) (InactiveReport, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return InactiveReport{}, err
	}
	if in.Days == 0 {
		in.Days = org.Settings.InactiveAfterDays
	}
	now := a.host.Now()
	rows, total, err := a.store.InactiveClientPage(ctx, org.ID, now.AddDate(0, 0, -in.Days), consented, toPage(in.Paging))
	if err != nil {
		return InactiveReport{}, err
	}
	today := booking.DateOf(now, org.Zone)
	items := rest.Map(rows, func(row store.InactiveClient) InactiveClient {
		since := row.LastAt
		if since.IsZero() {
			since = row.CreatedAt
		}
		return InactiveClient{
			ClientID: row.ID, Name: row.Name, Phone: row.Phone, Email: row.Email, LastAppointmentAt: inZone(&row.LastAt, org.Zone),
			DaysInactive: int(today - booking.DateOf(since, org.Zone)), TotalAppointments: row.TotalAppointments, TotalSpent: row.TotalSpentCents, FavoriteService: row.Favorite,
		}
	})
	return InactiveReport{rest.NewPage(items, total, in.Paging), in.Days, Span{(today - booking.Date(in.Days)).String(), today.String(), org.Timezone}}, nil
}

// PopularService counts the appointments of a service.
type PopularService struct {
	ServiceID    uuid.UUID     `json:"service_id" doc:"Names the service"`
	Name         string        `json:"name" doc:"Display name"`
	Appointments int           `json:"appointments" doc:"How often it was booked"`
	Revenue      booking.Cents `json:"revenue" doc:"What came in for it, less refunds"`
	Share        float64       `json:"share" doc:"Of all appointments"`
}

// PopularReport lists the most booked services.
type PopularReport struct {
	Items []PopularService `json:"items" nullable:"false" doc:"The most booked first"`
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
	Limit int `query:"limit" minimum:"1" maximum:"50" default:"10" doc:"Most services in the response"`
}

func (a *API) getPopular(ctx context.Context, in *popularInput) (PopularReport, error) {
	scope, err := a.resolveScope(ctx, &in.ReportQuery)
	if err != nil {
		return PopularReport{}, err
	}
	rows, err := a.store.MostBookedServices(ctx, scope.ReportScope, in.Limit)
	return PopularReport{rest.Map(rows, func(row store.PopularService) PopularService {
		return PopularService{row.ServiceID, row.Name, row.Appointments, booking.Cents(row.Revenue), rate(int64(row.Appointments), row.Total)}
	}), scope.toSpan()}, err
}
