package store

import (
	"context"
	"fmt"
	"time"

	"integrationhub/messaging/internal/store/dbgen"
)

type (
	// TicketReport counts tickets; averages are in minutes.
	TicketReport = dbgen.TicketReportRow
	// ReportDay is a day on which tickets were opened or closed.
	ReportDay = dbgen.TicketSeriesRow
	// UserReport is what a user did; averages are in minutes.
	UserReport = dbgen.UserReportRow
	// QueueReport is what happened in a queue; averages are in minutes.
	QueueReport = dbgen.QueueReportRow
)

// ReportRange selects what a report is about.
type ReportRange struct {
	Begins, Ends    time.Time // from, and before
	Zone            string    // IANA name, of its days
	QueueID, UserID *int64    // nil: any
}

// ReportTickets returns the report of a company's tickets, with the days on which some were
// opened or closed.
func (s *Store) ReportTickets(ctx context.Context, company int64, r ReportRange) (TicketReport, []ReportDay, error) {
	report, err := s.TicketReport(ctx, dbgen.TicketReportParams{CompanyID: company, Begins: r.Begins, Ends: r.Ends, QueueID: r.QueueID, UserID: r.UserID})
	if err != nil {
		return report, nil, fmt.Errorf("counting tickets: %w", err)
	}
	days, err := s.TicketSeries(ctx, dbgen.TicketSeriesParams{CompanyID: company, Begins: r.Begins, Ends: r.Ends, Zone: r.Zone, QueueID: r.QueueID, UserID: r.UserID})
	return report, days, err
}

// ReportUsers returns what the users of a company did, ordered by name.
func (s *Store) ReportUsers(ctx context.Context, company int64, r ReportRange) ([]UserReport, error) {
	return s.UserReport(ctx, dbgen.UserReportParams{CompanyID: company, Begins: r.Begins, Ends: r.Ends, QueueID: r.QueueID, UserID: r.UserID, At: s.host.Now()})
}

// ReportQueues returns what happened in the queues of a company, in their order.
func (s *Store) ReportQueues(ctx context.Context, company int64, r ReportRange) ([]QueueReport, error) {
	return s.QueueReport(ctx, dbgen.QueueReportParams{CompanyID: company, Begins: r.Begins, Ends: r.Ends, QueueID: r.QueueID, UserID: r.UserID})
}
