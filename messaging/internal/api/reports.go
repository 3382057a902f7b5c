package api

import (
	"context"
	"math"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// Bounds of reports, in days.
const (
	maxReportDays     = 366
	defaultReportDays = 30
)

type reportInput struct {
	DateFrom string `query:"dateFrom" format:"date" doc:"First day of the company's zone; absent: 29 days before dateTo" example:"2027-03-01"`
	DateTo   string `query:"dateTo" format:"date" doc:"Last day, at most 366 days with the first; absent: today" example:"2027-03-31"`
	QueueID  int64  `query:"queueId" minimum:"1" maximum:"9007199254740991" doc:"Only tickets of this queue"`
	UserID   int64  `query:"userId" minimum:"1" maximum:"9007199254740991" doc:"Only tickets of this user"`
}

// reportRange returns the company of a request and what the query selects. Ids of other
// companies are a [hub.ErrNotFound].
func (a *API) reportRange(ctx context.Context, in *reportInput) (scope store.Scope, days []string, r store.ReportRange, err error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return scope, nil, r, err
	}
	scope = user.scope
	company, err := a.store.Company(ctx, scope.Company)
	if err != nil {
		return scope, nil, r, err
	}
	zone := chat.LoadZone(company.Timezone)
	r.Zone = zone.String()
	if in.QueueID != 0 {
		if _, err := a.store.Queue(ctx, scope.Company, in.QueueID); err != nil {
			return scope, nil, r, dberr.MapNoRows(err, errNoQueue())
		}
		r.QueueID = &in.QueueID
	}
	if in.UserID != 0 {
		if _, err := a.store.User(ctx, scope.Company, in.UserID); err != nil {
			return scope, nil, r, dberr.MapNoRows(err, errNoUser())
		}
		r.UserID = &in.UserID
	}
	first, last, err := in.days(a.host.Now().In(zone))
	if err != nil {
		return scope, nil, r, err
	}
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		days = append(days, day.Format(time.DateOnly))
	}
	r.Begins, r.Ends = startOfDay(first, zone), startOfDay(last.AddDate(0, 0, 1), zone)
	return scope, days, r, nil
}

// startOfDay returns the first moment of a day in a zone. On days on which the clocks are put
// forward at midnight that is 01:00, and not an hour of the day before.
func startOfDay(day time.Time, zone *time.Location) time.Time {
	return chat.ClockOn(time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, zone), 0, 0)
}

// days returns the first and the last day of the query, as midnights of UTC. now is on the
// company's clock.
func (in *reportInput) days(now time.Time) (first, last time.Time, err error) {
	last = time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	if in.DateTo != "" {
		if last, err = time.Parse(time.DateOnly, in.DateTo); err != nil {
			return first, last, hub.Invalid("query.dateTo", "must be YYYY-MM-DD")
		}
	}
	first = last.AddDate(0, 0, 1-defaultReportDays)
	if in.DateFrom != "" {
		if first, err = time.Parse(time.DateOnly, in.DateFrom); err != nil {
			return first, last, hub.Invalid("query.dateFrom", "must be YYYY-MM-DD")
		}
	}
	switch {
	case first.Year() < 1900 || last.Year() > 9998:
		return first, last, hub.Invalid("query.dateFrom", "must be from 1900 to 9998")
	case first.After(last):
		return first, last, hub.Invalid("query.dateFrom", "must not be after dateTo")
	case last.Sub(first) >= maxReportDays*24*time.Hour:
		return first, last, hub.Invalid("query.dateFrom", "must be at most 366 days before dateTo, both included")
	}
	return first, last, nil
}

// roundMinutes returns minutes with two digits behind the point.
func roundMinutes(minutes float64) float64 { return math.Round(minutes*100) / 100 }

// TicketReport counts the company's tickets.
type TicketReport struct {
	Total          int         `json:"total" doc:"Tickets that began in the range"`
	Open           int         `json:"open" doc:"Tickets that are open now"`
	Pending        int         `json:"pending" doc:"Tickets that wait now"`
	Closed         int         `json:"closed" doc:"Tickets that were closed in the range"`
	Leads          int         `json:"leads" doc:"Contacts that were made in the range, of any queue and user"`
	AvgWaitTime    float64     `json:"avgWaitTime" doc:"Minutes that tickets accepted in the range had waited; 0: none" example:"4.5"`
	AvgSupportTime float64     `json:"avgSupportTime" doc:"Minutes from accepting to closing, of tickets closed in the range; 0: none" example:"18.25"`
	Series         []ReportDay `json:"series" nullable:"false" doc:"Every day of the range"`
}

// ReportDay is a day of a report.
type ReportDay struct {
	Date   string `json:"date" doc:"Day of the company's zone" example:"2027-03-01"`
	Opened int    `json:"opened" doc:"Tickets that began"`
	Closed int    `json:"closed" doc:"Tickets that were closed"`
}

func (a *API) reportTickets(ctx context.Context, in *reportInput) (*struct{ Body TicketReport }, error) {
	scope, days, selection, err := a.reportRange(ctx, in)
	if err != nil {
		return nil, err
	}
	row, counted, err := a.store.ReportTickets(ctx, scope.Company, selection)
	if err != nil {
		return nil, err
	}
	byDay := make(map[string]store.ReportDay, len(counted))
	for _, day := range counted {
		byDay[day.Day] = day
	}
	return &struct{ Body TicketReport }{TicketReport{
		Total: int(row.Total), Open: int(row.Open), Pending: int(row.Pending), Closed: int(row.Closed), Leads: int(row.Leads),
		AvgWaitTime: roundMinutes(row.WaitMinutes), AvgSupportTime: roundMinutes(row.SupportMinutes),
		Series: rest.Map(days, func(day string) ReportDay { return ReportDay{day, int(byDay[day].Opened), int(byDay[day].Closed)} }),
	}}, nil
}

// UserReport is what one user did.
type UserReport struct {
	ID               int64   `json:"id" doc:"The user" example:"3"`
	Name             string  `json:"name" doc:"Display name of the user" example:"Bia"`
	Online           bool    `json:"online" doc:"Is online now"`
	Tickets          int     `json:"tickets" doc:"Its tickets that were accepted in the range"`
	Closed           int     `json:"closed" doc:"Its tickets that were closed in the range"`
	AvgSupportTime   float64 `json:"avgSupportTime" doc:"Minutes from accepting to closing; 0: none" example:"18.25"`
	AvgFirstResponse float64 `json:"avgFirstResponse" doc:"Minutes from accepting to the first answer; 0: none" example:"1.5"`
	Rating           float64 `json:"rating" doc:"Average of the ratings of tickets closed in the range, 1 to 5; 0: none" example:"4.5"`
}

// UserReportList has a row for each user, ordered by name.
type UserReportList struct {
	Users []UserReport `json:"users" nullable:"false" doc:"At most 1,000"`
}

func (a *API) reportUsers(ctx context.Context, in *reportInput) (*struct{ Body UserReportList }, error) {
	scope, _, selection, err := a.reportRange(ctx, in)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.ReportUsers(ctx, scope.Company, selection)
	return &struct{ Body UserReportList }{UserReportList{rest.Map(rows, func(row store.UserReport) UserReport {
		return UserReport{
			ID: row.ID, Name: row.Name, Online: row.Online, Tickets: int(row.Tickets), Closed: int(row.Closed), AvgSupportTime: roundMinutes(row.SupportMinutes),
			AvgFirstResponse: roundMinutes(row.ResponseMinutes), Rating: roundMinutes(row.Rating),
		}
	})}}, err
}

// QueueReport is what happened in one queue.
type QueueReport struct {
	ID             int64   `json:"id" doc:"The queue" example:"4"`
	Name           string  `json:"name" doc:"Display name of the queue" example:"Sales"`
	Color          string  `json:"color" doc:"#rgb or #rrggbb" example:"#00aa88"`
	Open           int     `json:"open" doc:"Tickets that are open now"`
	Pending        int     `json:"pending" doc:"Tickets that wait now"`
	Closed         int     `json:"closed" doc:"Tickets that were closed in the range"`
	AvgWaitTime    float64 `json:"avgWaitTime" doc:"Minutes that tickets accepted in the range had waited; 0: none" example:"4.5"`
	AvgSupportTime float64 `json:"avgSupportTime" doc:"Minutes from accepting to closing; 0: none" example:"18.25"`
}

// QueueReportList has a row for each queue, in their order.
type QueueReportList struct {
	Queues []QueueReport `json:"queues" nullable:"false" doc:"At most 1,000"`
}

func (a *API) reportQueues(ctx context.Context, in *reportInput) (*struct{ Body QueueReportList }, error) {
	scope, _, selection, err := a.reportRange(ctx, in)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.ReportQueues(ctx, scope.Company, selection)
	return &struct{ Body QueueReportList }{QueueReportList{rest.Map(rows, func(row store.QueueReport) QueueReport {
		return QueueReport{
			ID: row.ID, Name: row.Name, Color: row.Color, Open: int(row.Open), Pending: int(row.Pending), Closed: int(row.Closed),
			AvgWaitTime: roundMinutes(row.WaitMinutes), AvgSupportTime: roundMinutes(row.SupportMinutes),
		}
	})}}, err
}
