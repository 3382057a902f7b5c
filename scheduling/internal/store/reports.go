package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// ReportScope selects the data of a report.
type ReportScope struct {
	Org          Org
	Since, Until time.Time  // Until is excluded
	Professional *uuid.UUID // nil: all
}

// DashboardCounts counts appointments: those of today, and those of the report's period.
type DashboardCounts = dbgen.DashboardCountsRow

// ReportProfessional is a professional of a report; DeletedAt is nil for those present.
type ReportProfessional = dbgen.ReportProfessionalsRow

// WeekdayAttendance counts a professional's completed and missed appointments on one
// weekday, 0 = Monday.
type WeekdayAttendance = dbgen.AttendanceByWeekdayRow

// DailyRevenue is the revenue of a day by method, professional and service.
type DailyRevenue = dbgen.RevenueByDayRow

// PopularService counts a service's appointments. Total counts those of all services.
type PopularService = dbgen.PopularServicesRow

// InactiveClient is a client without a recent appointment. LastAt is zero without a
// visit. Total counts the clients of all pages.
type InactiveClient = dbgen.InactiveClientsRow

// CountForDashboard counts the appointments of a dashboard. The day of today is
// [today, tomorrow).
func (d DB) CountForDashboard(ctx context.Context, scope ReportScope, today, tomorrow time.Time) (DashboardCounts, error) {
	return d.DashboardCounts(ctx, dbgen.DashboardCountsParams{OrgID: scope.Org.ID, Today: today, Tomorrow: tomorrow, Since: scope.Since, Until: scope.Until, ProfessionalID: scope.Professional})
}

// CountClientsCreated counts the clients created in the report's period.
func (d DB) CountClientsCreated(ctx context.Context, scope ReportScope) (int, error) {
	return d.CountNewClients(ctx, dbgen.CountNewClientsParams{OrgID: scope.Org.ID, Since: scope.Since, Until: scope.Until})
}

// TotalRevenue returns an organization's revenue in the report's period, net of refunds
// and of all professionals.
func (d DB) TotalRevenue(ctx context.Context, scope ReportScope) (booking.Cents, error) {
	total, err := d.SumRevenue(ctx, dbgen.SumRevenueParams{OrgID: scope.Org.ID, Since: scope.Since, Until: scope.Until})
	return booking.Cents(total), err
}

// DailyRevenues returns the revenue of the report's period, ordered by day.
func (d DB) DailyRevenues(ctx context.Context, scope ReportScope) ([]DailyRevenue, error) {
	return d.RevenueByDay(ctx, dbgen.RevenueByDayParams{OrgID: scope.Org.ID, Zone: scope.Org.Timezone, Since: scope.Since, Until: scope.Until, ProfessionalID: scope.Professional})
}

// ProfessionalsInReport returns the professionals present at some time since the start of
// the report's period.
func (d DB) ProfessionalsInReport(ctx context.Context, scope ReportScope) ([]ReportProfessional, error) {
	return d.ReportProfessionals(ctx, dbgen.ReportProfessionalsParams{OrgID: scope.Org.ID, Since: scope.Since, ID: scope.Professional})
}

// WeekdayAttendances returns the attendance of the report's period by professional and
// weekday.
func (d DB) WeekdayAttendances(ctx context.Context, scope ReportScope) ([]WeekdayAttendance, error) {
	return d.AttendanceByWeekday(ctx, dbgen.AttendanceByWeekdayParams{OrgID: scope.Org.ID, Zone: scope.Org.Timezone, Since: scope.Since, Until: scope.Until, ProfessionalID: scope.Professional})
}

// MostBookedServices returns the most booked services of the report's period.
func (d DB) MostBookedServices(ctx context.Context, scope ReportScope, limit int) ([]PopularService, error) {
	return d.PopularServices(ctx, dbgen.PopularServicesParams{OrgID: scope.Org.ID, Since: scope.Since, Until: scope.Until, ProfessionalID: scope.Professional, RowLimit: limit})
}

// InactiveClientPage returns a page of the clients whose last visit was before a time,
// and their total number. consented limits them to clients with marketing consent.
func (s *Store) InactiveClientPage(ctx context.Context, org uuid.UUID, before time.Time, consented bool, page Page) (clients []InactiveClient, total int, err error) {
	now := s.host.Now()
	clients, err = s.InactiveClients(ctx, dbgen.InactiveClientsParams{OrgID: org, Consented: consented, Now: now, Before: before, RowLimit: page.Limit, RowOffset: page.Offset})
	switch {
	case err != nil:
		return nil, 0, err
	case len(clients) > 0:
		return clients, int(clients[0].Total), nil
	case page.Offset > 0:
		total, err = s.CountInactiveClients(ctx, dbgen.CountInactiveClientsParams{OrgID: org, Consented: consented, Now: now, Before: before})
	}
	return clients, total, err
}
