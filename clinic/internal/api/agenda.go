package api

import (
	"context"
	"strings"
	"time"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// maxAgendaPeriod bounds the period of one request.
const maxAgendaPeriod = 366 * 24 * time.Hour

// AgendaItem is an appointment in the agenda of the clinic.
type AgendaItem struct {
	Appointment
	PatientName string `json:"patient_name" doc:"At most 120 characters"`
}

type agendaInput struct {
	rest.PageParams
	From         string `query:"from" maxLength:"40" example:"2026-03-02" doc:"Begin of the period: a date, or a date-time; absent: today. Without a UTC offset it counts in the clinic's time zone"`
	To           string `query:"to" maxLength:"40" example:"2026-03-06" doc:"End of the period: a date, whose whole day is in it, or a date-time, which is not; absent: seven days after from. At most 366 days after from"`
	Professional string `query:"professional" maxLength:"120" doc:"Only appointments with this professional: the whole display name, in any case"`
	Status       string `query:"status" enum:"scheduled,confirmed,completed,cancelled,no_show" doc:"Only appointments with this status"`
}

// listAgenda lists the appointments of all patients in a period.
func (a *API) listAgenda(ctx context.Context, in *agendaInput) (*struct{ Body rest.Page[AgendaItem] }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	filter := store.AgendaFilter{Professional: strings.TrimSpace(in.Professional), Status: in.Status}
	var errs rest.FieldErrors
	if in.From == "" {
		clinic, err := a.store.Clinic(ctx, scope.Clinic)
		if err != nil {
			return nil, err
		}
		today, err := store.Today(clinic.Timezone, a.host.Now())
		if err != nil {
			return nil, err
		}
		in.From = formatDate(today)
	}
	if filter.From, err = a.parsePeriodBound(ctx, scope, in.From, 0, "query.from", &errs); err != nil {
		return nil, err
	}
	if in.To == "" {
		filter.Before = filter.From.AddDate(0, 0, 7)
	} else if filter.Before, err = a.parsePeriodBound(ctx, scope, in.To, 1, "query.to", &errs); err != nil {
		return nil, err
	}
	if errs.Err() == nil {
		errs.Check(filter.Before.After(filter.From), "query.to", "must be after from")
		errs.Check(filter.Before.Sub(filter.From) <= maxAgendaPeriod, "query.to", "must be at most 366 days after from")
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	module.RequireAudit(ctx)
	rows, total, err := a.store.ListAgenda(ctx, scope, filter, toPage(in.PageParams))
	items := rest.Map(rows, func(row store.AgendaRow) AgendaItem {
		return AgendaItem{toAppointment(row.Appointment), row.PatientName}
	})
	return &struct{ Body rest.Page[AgendaItem] }{rest.NewPage(items, total, in.PageParams)}, err
}

// parsePeriodBound parses a date, moved by some days, as its midnight in the clinic's time
// zone, or a date-time.
func (a *API) parsePeriodBound(ctx context.Context, scope store.Scope, text string, days int, location string, errs *rest.FieldErrors) (time.Time, error) {
	if date, err := time.Parse(time.DateOnly, text); err == nil {
		text = date.AddDate(0, 0, days).Format(time.DateOnly) + "T00:00:00"
	}
	completed, err := a.store.CompleteDatetime(ctx, scope.Clinic, text)
	if err != nil {
		return time.Time{}, err
	}
	return errs.ParseTime(completed, location), nil
}

// DuePayment is a payment in the list of the clinic.
type DuePayment struct {
	Payment
	PatientName string `json:"patient_name" doc:"At most 120 characters"`
}

type paymentsInput struct {
	rest.PageParams
	Status care.PaymentStatus `query:"status" enum:"pending,paid,overdue,cancelled" default:"overdue" doc:"Only payments with this status"`
}

// listClinicPayments lists the payments of all patients with a status, the longest due
// first.
func (a *API) listClinicPayments(ctx context.Context, in *paymentsInput) (*struct{ Body rest.Page[DuePayment] }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	module.RequireAudit(ctx)
	rows, total, err := a.store.ListPaymentsByStatus(ctx, scope, in.Status, toPage(in.PageParams))
	items := rest.Map(rows, func(row store.PaymentRow) DuePayment {
		return DuePayment{toPayment(row.Payment), row.PatientName}
	})
	return &struct{ Body rest.Page[DuePayment] }{rest.NewPage(items, total, in.PageParams)}, err
}
