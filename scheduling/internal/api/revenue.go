package api

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
)

// RevenueReport is the revenue of a period, net of refunds.
type RevenueReport struct {
	Currency       string                  `json:"currency" doc:"ISO 4217 code of all amounts"`
	Total          booking.Cents           `json:"total" doc:"What came in, less refunds"`
	PreviousTotal  booking.Cents           `json:"previous_total" doc:"Of the period before"`
	ChangeRate     *float64                `json:"change_rate" doc:"null where nothing came in before"`
	PaymentsCount  int                     `json:"payments_count" doc:"How many there were"`
	AverageTicket  booking.Cents           `json:"average_ticket" doc:"Mean of what came in"`
	Series         []RevenueInPeriod       `json:"series" nullable:"false" doc:"By day; quarters by week, years by month"`
	ByMethod       []MethodSummary         `json:"by_method" nullable:"false" doc:"Sums by way of payment"`
	ByProfessional []RevenueOfProfessional `json:"by_professional" nullable:"false" doc:"Sums by who did it"`
	ByService      []RevenueOfService      `json:"by_service" nullable:"false" doc:"Sums by what was done"`
	Span
}

// RevenueInPeriod is the revenue of a day, week or month, by its first day.
type RevenueInPeriod struct {
	Date   string        `json:"date" doc:"First day of the day, week or month"`
	Amount booking.Cents `json:"amount" doc:"Sum in the organization's currency"`
	Count  int           `json:"count" doc:"How many payments it sums up"`
}

// RevenueOfProfessional is the revenue of a professional.
type RevenueOfProfessional struct {
	ProfessionalID   uuid.UUID     `json:"professional_id" doc:"Professional who does it"`
	ProfessionalName string        `json:"professional_name" doc:"How the professional is called; those removed too"`
	Amount           booking.Cents `json:"amount" doc:"Sum in the organization's currency"`
	Count            int           `json:"count" doc:"How many payments it sums up"`
}

// RevenueOfService is the revenue of a service.
type RevenueOfService struct {
	ServiceID   uuid.UUID     `json:"service_id" doc:"Service that is booked"`
	ServiceName string        `json:"service_name" doc:"How the service is called; those removed too"`
	Amount      booking.Cents `json:"amount" doc:"Sum in the organization's currency"`
	Count       int           `json:"count" doc:"How many payments it sums up"`
}

func (r RevenueReport) table() [][]any {
	rows := [][]any{{"date", "amount", "count"}}
	for _, t := range r.Series {
		rows = append(rows, []any{t.Date, t.Amount, t.Count})
	}
	return rows
}

func (a *API) loadRevenue(ctx context.Context, scope reportScope, since, until time.Time) ([]store.DailyRevenue, error) {
	scope.Since, scope.Until = since, until
	return a.store.DailyRevenues(ctx, scope.ReportScope)
}

// revenueByKey sums revenue by key and keeps the keys in order of appearance.
type revenueByKey[K comparable] struct {
	keys []K
	sums map[K]*RevenueInPeriod
}

func (t *revenueByKey[K]) add(key K, row store.DailyRevenue) {
	if t.sums == nil {
		t.sums = make(map[K]*RevenueInPeriod)
	}
	if t.sums[key] == nil {
		t.keys = append(t.keys, key)
		t.sums[key] = &RevenueInPeriod{}
	}
	t.sums[key].Amount += booking.Cents(row.Amount)
	t.sums[key].Count += row.Payments
}

// sortedKeys returns the keys by descending amount.
func (t *revenueByKey[K]) sortedKeys() []K {
	slices.SortStableFunc(t.keys, func(x, y K) int { return cmp.Compare(t.sums[y].Amount, t.sums[x].Amount) })
	return t.keys
}

// reportItem identifies a professional or service in a report.
type reportItem struct {
	id   uuid.UUID
	name string
}

func (a *API) getRevenue(ctx context.Context, in *ReportQuery) (RevenueReport, error) {
	scope, err := a.resolveScope(ctx, in)
	if err != nil {
		return RevenueReport{}, err
	}
	rows, err := a.loadRevenue(ctx, scope, scope.Since, scope.Until)
	if err != nil {
		return RevenueReport{}, err
	}
	first, last := periodBounds(scope.period, scope.first, -1)
	previous, err := a.loadRevenue(ctx, scope, booking.DayStart(scope.Org.Zone, first), booking.DayStart(scope.Org.Zone, last+1))
	if err != nil {
		return RevenueReport{}, err
	}
	report := RevenueReport{Currency: scope.Org.Currency, Span: scope.toSpan(), ByMethod: []MethodSummary{}, ByProfessional: []RevenueOfProfessional{}, ByService: []RevenueOfService{}}
	for _, row := range previous {
		report.PreviousTotal += booking.Cents(row.Amount)
	}
	var methods revenueByKey[string]
	var professionals, services revenueByKey[reportItem]
	for _, row := range rows {
		report.Total += booking.Cents(row.Amount)
		report.PaymentsCount += row.Payments
		methods.add(row.Method, row)
		if row.ProfessionalID != nil {
			professionals.add(reportItem{*row.ProfessionalID, row.ProfessionalName}, row)
		}
		if row.ServiceID != nil {
			services.add(reportItem{*row.ServiceID, row.ServiceName}, row)
		}
	}
	for _, method := range methods.sortedKeys() {
		report.ByMethod = append(report.ByMethod, MethodSummary{method, methods.sums[method].Amount, methods.sums[method].Count})
	}
	for _, p := range professionals.sortedKeys() {
		report.ByProfessional = append(report.ByProfessional, RevenueOfProfessional{p.id, p.name, professionals.sums[p].Amount, professionals.sums[p].Count})
	}
	for _, p := range services.sortedKeys() {
		report.ByService = append(report.ByService, RevenueOfService{p.id, p.name, services.sums[p].Amount, services.sums[p].Count})
	}
	report.AverageTicket = report.Total.Share(1, int64(report.PaymentsCount))
	if report.PreviousTotal > 0 {
		change := math.Round(float64(report.Total-report.PreviousTotal)/float64(report.PreviousTotal)*10000) / 10000
		report.ChangeRate = &change
	}
	report.Series = buildSeries(scope, rows)
	return report, nil
}

// buildSeries sums revenue by day, week or month. Empty periods are zero.
func buildSeries(scope reportScope, rows []store.DailyRevenue) []RevenueInPeriod {
	bucketStart := func(date booking.Date) booking.Date {
		switch scope.period {
		case "quarter":
			return max(scope.first, date-booking.Date(date.Weekday()))
		case "year":
			first, _ := periodBounds("month", date, 0)
			return first
		}
		return date
	}
	list := []RevenueInPeriod{}
	indexByDate := make(map[booking.Date]int)
	for date := scope.first; date <= scope.last; date++ {
		if start := bucketStart(date); start == date {
			indexByDate[date] = len(list)
			list = append(list, RevenueInPeriod{Date: date.String()})
		}
	}
	for _, row := range rows {
		if i, ok := indexByDate[bucketStart(booking.NewDate(row.Day.Date()))]; ok {
			list[i].Amount += booking.Cents(row.Amount)
			list[i].Count += row.Payments
		}
	}
	return list
}
