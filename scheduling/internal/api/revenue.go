package api

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// RevenueReport is what came in, refunds taken off.
type RevenueReport struct {
	Currency       string          `json:"currency"`
	Total          booking.Cents   `json:"total"`
	PreviousTotal  booking.Cents   `json:"previous_total" doc:"Of the period before"`
	ChangeRate     *float64        `json:"change_rate" doc:"null where nothing came in before"`
	PaymentsCount  int             `json:"payments_count"`
	AverageTicket  booking.Cents   `json:"average_ticket"`
	Series         []Taken         `json:"series" nullable:"false" doc:"By day; quarters by week, years by month"`
	ByMethod       []MethodSummary `json:"by_method" nullable:"false"`
	ByProfessional []TakenBy       `json:"by_professional" nullable:"false"`
	ByService      []TakenFor      `json:"by_service" nullable:"false"`
	Span
}

// Taken is what came in from a day on.
type Taken struct {
	Date   string        `json:"date"`
	Amount booking.Cents `json:"amount"`
	Count  int           `json:"count"`
}

// TakenBy is what a professional's appointments brought.
type TakenBy struct {
	ProfessionalID   uuid.UUID     `json:"professional_id"`
	ProfessionalName string        `json:"professional_name"`
	Amount           booking.Cents `json:"amount"`
	Count            int           `json:"count"`
}

// TakenFor is what a service's appointments brought.
type TakenFor struct {
	ServiceID   uuid.UUID     `json:"service_id"`
	ServiceName string        `json:"service_name"`
	Amount      booking.Cents `json:"amount"`
	Count       int           `json:"count"`
}

func (r RevenueReport) table() [][]any {
	rows := [][]any{{"date", "amount", "count"}}
	for _, t := range r.Series {
		rows = append(rows, []any{t.Date, t.Amount, t.Count})
	}
	return rows
}

func (a *API) loadTakings(ctx context.Context, s reportScope, since, until time.Time) ([]dbgen.TakingsRow, error) {
	return a.store.Takings(ctx, dbgen.TakingsParams{OrgID: s.org.ID, Zone: s.org.Timezone, Since: since, Until: until, ProfessionalID: s.professional})
}

// tally adds amounts up by a key, in the order of first sight.
type tally[K comparable] struct {
	keys []K
	sums map[K]*Taken
}

func (t *tally[K]) add(key K, row dbgen.TakingsRow) {
	if t.sums == nil {
		t.sums = make(map[K]*Taken)
	}
	if t.sums[key] == nil {
		t.keys = append(t.keys, key)
		t.sums[key] = &Taken{}
	}
	t.sums[key].Amount += booking.Cents(row.Amount)
	t.sums[key].Count += row.Payments
}

// sortedKeys gives the keys, the largest amount first.
func (t *tally[K]) sortedKeys() []K {
	slices.SortStableFunc(t.keys, func(x, y K) int { return cmp.Compare(t.sums[y].Amount, t.sums[x].Amount) })
	return t.keys
}

// reportItem is a thing that money came in for.
type reportItem struct {
	id   uuid.UUID
	name string
}

func (a *API) getRevenue(ctx context.Context, in *ReportQuery) (RevenueReport, error) {
	s, err := a.resolveScope(ctx, in)
	if err != nil {
		return RevenueReport{}, err
	}
	rows, err := a.loadTakings(ctx, s, s.since, s.until)
	if err != nil {
		return RevenueReport{}, err
	}
	first, last := periodBounds(s.period, s.first, -1)
	before, err := a.loadTakings(ctx, s, booking.DayStart(s.org.Zone, first), booking.DayStart(s.org.Zone, last+1))
	if err != nil {
		return RevenueReport{}, err
	}
	r := RevenueReport{Currency: s.org.Currency, Span: s.toSpan(), ByMethod: []MethodSummary{}, ByProfessional: []TakenBy{}, ByService: []TakenFor{}}
	for _, row := range before {
		r.PreviousTotal += booking.Cents(row.Amount)
	}
	var methods tally[string]
	var people, services tally[reportItem]
	for _, row := range rows {
		r.Total += booking.Cents(row.Amount)
		r.PaymentsCount += row.Payments
		methods.add(row.Method, row)
		if row.ProfessionalID != nil {
			people.add(reportItem{*row.ProfessionalID, row.ProfessionalName}, row)
		}
		if row.ServiceID != nil {
			services.add(reportItem{*row.ServiceID, row.ServiceName}, row)
		}
	}
	for _, m := range methods.sortedKeys() {
		r.ByMethod = append(r.ByMethod, MethodSummary{m, methods.sums[m].Amount, methods.sums[m].Count})
	}
	for _, p := range people.sortedKeys() {
		r.ByProfessional = append(r.ByProfessional, TakenBy{p.id, p.name, people.sums[p].Amount, people.sums[p].Count})
	}
	for _, p := range services.sortedKeys() {
		r.ByService = append(r.ByService, TakenFor{p.id, p.name, services.sums[p].Amount, services.sums[p].Count})
	}
	r.AverageTicket = r.Total.Share(1, int64(r.PaymentsCount))
	if r.PreviousTotal > 0 {
		change := math.Round(float64(r.Total-r.PreviousTotal)/float64(r.PreviousTotal)*10000) / 10000
		r.ChangeRate = &change
	}
	r.Series = buildSeries(s, rows)
	return r, nil
}

// buildSeries adds up by day, week or month, with zeros where nothing came in.
func buildSeries(s reportScope, rows []dbgen.TakingsRow) []Taken {
	begin := func(d booking.Date) booking.Date {
		switch s.period {
		case "quarter":
			return max(s.first, d-booking.Date(d.Weekday()))
		case "year":
			first, _ := periodBounds("month", d, 0)
			return first
		}
		return d
	}
	list := []Taken{}
	at := make(map[booking.Date]int)
	for d := s.first; d <= s.last; d++ {
		if start := begin(d); start == d {
			at[d] = len(list)
			list = append(list, Taken{Date: d.String()})
		}
	}
	for _, row := range rows {
		if i, ok := at[begin(booking.NewDate(row.Day.Date()))]; ok {
			list[i].Amount += booking.Cents(row.Amount)
			list[i].Count += row.Payments
		}
	}
	return list
}
