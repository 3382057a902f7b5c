package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Payment is money for the organization.
type Payment struct {
	ID                uuid.UUID     `json:"id"`
	OrgID             uuid.UUID     `json:"org_id"`
	AppointmentID     *uuid.UUID    `json:"appointment_id"`
	ClientID          uuid.UUID     `json:"client_id"`
	Amount            booking.Cents `json:"amount"`
	Method            string        `json:"method" enum:"pix,cash,credit_card,debit_card"`
	Description       string        `json:"description"`
	Status            string        `json:"status" enum:"pending,paid,expired,cancelled,refunded,failed"`
	Kind              string        `json:"kind" enum:"full,deposit,other"`
	Provider          *string       `json:"provider"`
	ProviderPaymentID *string       `json:"provider_payment_id"`
	PaidAt            *time.Time    `json:"paid_at"`
	ExpiresAt         *time.Time    `json:"expires_at"`
	RefundedAmount    booking.Cents `json:"refunded_amount"`
	CreatedBy         *uuid.UUID    `json:"created_by"`
	CreatedAt         time.Time     `json:"created_at"`
}

func toPayment(p dbgen.PaymentDetail, zone *time.Location) Payment {
	return Payment{
		ID: p.ID, OrgID: p.OrgID, AppointmentID: p.AppointmentID, ClientID: p.ClientID, Amount: p.AmountCents, Method: p.Method,
		Description: p.Description, Status: p.Status, Kind: p.Kind, Provider: p.Provider, ProviderPaymentID: p.ProviderPaymentID,
		PaidAt: inZone(p.PaidAt, zone), ExpiresAt: inZone(p.ExpiresAt, zone), RefundedAmount: p.RefundedCents,
		CreatedBy: p.CreatedBy, CreatedAt: p.CreatedAt.In(zone),
	}
}

func toPayments(rows []dbgen.PaymentDetail, zone *time.Location) []Payment {
	return rest.Map(rows, func(p dbgen.PaymentDetail) Payment { return toPayment(p, zone) })
}

type paymentsInput struct {
	Paging
	Month    string `query:"month" doc:"YYYY-MM; absent: this month"`
	Status   string `query:"status" enum:"pending,paid,expired,cancelled,refunded,failed"`
	ClientID string `query:"client_id" format:"uuid"`
}

// Statement is a month's payments.
type Statement struct {
	Page[Payment]
	Month         string          `json:"month"`
	TotalPaid     booking.Cents   `json:"total_paid"`
	TotalPending  booking.Cents   `json:"total_pending"`
	TotalRefunded booking.Cents   `json:"total_refunded"`
	ByMethod      []MethodSummary `json:"by_method" nullable:"false"`
}

// MethodSummary is what came in by one method.
type MethodSummary struct {
	Method string        `json:"method"`
	Amount booking.Cents `json:"amount"`
	Count  int           `json:"count"`
}

func (a *API) listPayments(ctx context.Context, in *paymentsInput) (*struct{ Body Statement }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	first, last, err := parseMonth(in.Month, a.host.Now(), org.Zone)
	if err != nil {
		return nil, err
	}
	client, err := parseOptionalID("query.client_id", in.ClientID)
	if err != nil {
		return nil, err
	}
	var status *string
	if in.Status != "" {
		status = &in.Status
	}
	since, until := dayBounds(first, last, org.Zone)
	rows, err := a.store.MonthPayments(ctx, dbgen.MonthPaymentsParams{
		OrgID: org.ID, Since: since, Until: until, Status: status, ClientID: client, RowLimit: in.PerPage, RowOffset: in.Offset(),
	})
	if err != nil {
		return nil, err
	}
	sums, err := a.store.SumPayments(ctx, dbgen.SumPaymentsParams{OrgID: org.ID, Since: since, Until: until, Status: status, ClientID: client})
	s := Statement{Month: first.Time().Format("2006-01"), ByMethod: []MethodSummary{}}
	total := 0
	for _, sum := range sums {
		total += sum.Payments
		switch sum.Status {
		case "pending":
			s.TotalPending += booking.Cents(sum.Amount)
		case "paid", "refunded":
			s.TotalPaid += booking.Cents(sum.Amount)
			s.TotalRefunded += booking.Cents(sum.Refunded)
			if n := len(s.ByMethod); n == 0 || s.ByMethod[n-1].Method != sum.Method {
				s.ByMethod = append(s.ByMethod, MethodSummary{Method: sum.Method})
			}
			m := &s.ByMethod[len(s.ByMethod)-1]
			m.Amount += booking.Cents(sum.Amount - sum.Refunded)
			m.Count += sum.Payments
		}
	}
	s.Page = rest.NewPage(toPayments(rows, org.Zone), total, in.Paging)
	return &struct{ Body Statement }{s}, err
}

type createPaymentInput struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"The same request with the same key records one payment, for 24 hours"`
	Body           struct {
		AppointmentID optional[uuid.UUID]     `json:"appointment_id,omitempty"`
		ClientID      optional[uuid.UUID]     `json:"client_id,omitempty" doc:"Needed without an appointment"`
		Amount        optional[booking.Cents] `json:"amount"`
		Method        string                  `json:"method" enum:"pix,cash,credit_card,debit_card"`
		Description   optional[string]        `json:"description,omitempty"`
		Kind          string                  `json:"kind,omitempty" enum:"full,deposit,other" default:"full"`
	} `nameHint:"NewPayment"`
}

func (a *API) createPayment(ctx context.Context, in *createPaymentInput) (*struct{ Body Payment }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	var wrong fieldErrors
	wrong.Check(b.Amount.Value > 0 && b.Amount.Value <= booking.MaxPrice, "body.amount", "must be above 0 and at most "+booking.MaxPrice.String())
	wrong.checkAmount(b.Amount, org.Currency, "body.amount")
	wrong.CheckLength(b.Description.Value, "body.description", 0, 200)
	wrong.Check(b.ClientID.HasValue() || b.AppointmentID.HasValue(), "body.client_id", "is required without appointment_id")
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	n := store.NewPayment{Org: org.ID, Amount: b.Amount.Value, Method: b.Method, Description: b.Description.Value, Kind: b.Kind, By: currentActor(ctx).User}
	b.AppointmentID.ApplyToNullable(&n.Appointment)
	b.ClientID.ApplyTo(&n.Client)
	once, err := newIdempotencyKey("payments.create", in.IdempotencyKey, b)
	if err != nil {
		return nil, err
	}
	made, err := a.store.RecordPayment(ctx, org.ID, once, func(tx *store.Tx) (dbgen.PaymentDetail, error) {
		if err := resolvePayer(ctx, tx, &n); err != nil {
			return dbgen.PaymentDetail{}, err
		}
		return tx.AddPayment(ctx, org, n)
	})
	return &struct{ Body Payment }{toPayment(made, org.Zone)}, err
}

// resolvePayer finds who pays: the appointment's client where nobody else is named. An
// appointment can be paid although its client was forgotten.
func resolvePayer(ctx context.Context, tx *store.Tx, n *store.NewPayment) error {
	if n.Appointment != nil {
		appointment, err := tx.AppointmentByID(ctx, n.Org, *n.Appointment)
		if err != nil {
			return rest.NotFoundIfNoRows("Appointment", err)
		}
		if n.Client == uuid.Nil {
			n.Client = appointment.ClientID
		}
		if n.Client == appointment.ClientID {
			return nil
		}
	}
	_, err := tx.LoadClient(ctx, n.Org, n.Client)
	return err
}
