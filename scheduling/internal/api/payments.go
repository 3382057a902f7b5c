package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
)

// Payment is a payment to the organization.
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

func toPayment(row store.PaymentDetail, zone *time.Location) Payment {
	return Payment{
		ID: row.ID, OrgID: row.OrgID, AppointmentID: row.AppointmentID, ClientID: row.ClientID, Amount: row.AmountCents, Method: row.Method,
		Description: row.Description, Status: row.Status, Kind: row.Kind, Provider: row.Provider, ProviderPaymentID: row.ProviderPaymentID,
		PaidAt: inZone(row.PaidAt, zone), ExpiresAt: inZone(row.ExpiresAt, zone), RefundedAmount: row.RefundedCents,
		CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt.In(zone),
	}
}

func toPayments(rows []store.PaymentDetail, zone *time.Location) []Payment {
	return rest.Map(rows, func(row store.PaymentDetail) Payment { return toPayment(row, zone) })
}

type paymentsInput struct {
	Paging
	Month    string `query:"month" doc:"YYYY-MM; absent: this month"`
	Status   string `query:"status" enum:"pending,paid,expired,cancelled,refunded,failed"`
	ClientID string `query:"client_id" format:"uuid"`
}

// Statement is a page of a month's payments with their totals.
type Statement struct {
	Page[Payment]
	Month         string          `json:"month"`
	TotalPaid     booking.Cents   `json:"total_paid"`
	TotalPending  booking.Cents   `json:"total_pending"`
	TotalRefunded booking.Cents   `json:"total_refunded"`
	ByMethod      []MethodSummary `json:"by_method" nullable:"false"`
}

// MethodSummary is the total of a payment method.
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
	filter := store.PaymentFilter{Since: since, Until: until, Status: status, Client: client}
	rows, err := a.store.PaymentsBetween(ctx, org.ID, filter, toPage(in.Paging))
	if err != nil {
		return nil, err
	}
	sums, err := a.store.PaymentTotals(ctx, org.ID, filter)
	statement := Statement{Month: first.Time().Format("2006-01"), ByMethod: []MethodSummary{}}
	total := 0
	for _, sum := range sums {
		total += sum.Payments
		switch sum.Status {
		case "pending":
			statement.TotalPending += booking.Cents(sum.Amount)
		case "paid", "refunded":
			statement.TotalPaid += booking.Cents(sum.Amount)
			statement.TotalRefunded += booking.Cents(sum.Refunded)
			if n := len(statement.ByMethod); n == 0 || statement.ByMethod[n-1].Method != sum.Method {
				statement.ByMethod = append(statement.ByMethod, MethodSummary{Method: sum.Method})
			}
			method := &statement.ByMethod[len(statement.ByMethod)-1]
			method.Amount += booking.Cents(sum.Amount - sum.Refunded)
			method.Count += sum.Payments
		}
	}
	statement.Page = rest.NewPage(toPayments(rows, org.Zone), total, in.Paging)
	return &struct{ Body Statement }{statement}, err
}

type createPaymentInput struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"The same request with the same key records one payment, for 24 hours"`
	Body           struct {
		AppointmentID nullable[uuid.UUID]     `json:"appointment_id,omitempty" doc:"null or absent: of no appointment"`
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
	body := &in.Body
	var errs fieldErrors
	errs.Check(body.Amount.Value > 0 && body.Amount.Value <= booking.MaxPrice, "body.amount", "must be above 0 and at most "+booking.MaxPrice.String())
	errs.checkAmount(body.Amount.Pointer(), org.Currency, "body.amount")
	errs.CheckLength(body.Description.Value, "body.description", 0, 200)
	errs.Check(body.ClientID.HasValue() || body.AppointmentID.HasValue(), "body.client_id", "is required without appointment_id")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	payment := store.NewPayment{Org: org.ID, Amount: body.Amount.Value, Method: body.Method, Description: body.Description.Value, Kind: body.Kind, By: currentActor(ctx).User}
	body.AppointmentID.ApplyTo(&payment.Appointment)
	body.ClientID.ApplyTo(&payment.Client)
	idempotency, err := newIdempotencyKey("payments.create", in.IdempotencyKey, body)
	if err != nil {
		return nil, err
	}
	recorded, err := a.store.RecordPayment(ctx, org.ID, idempotency, func(tx *store.Tx) (store.PaymentDetail, error) {
		if err := resolvePayer(ctx, tx, &payment); err != nil {
			return store.PaymentDetail{}, err
		}
		return tx.AddPayment(ctx, org, payment)
	})
	return &struct{ Body Payment }{toPayment(recorded, org.Zone)}, err
}

// resolvePayer checks the named client, or fills in the appointment's. An appointment of
// an erased client can still be paid.
func resolvePayer(ctx context.Context, tx *store.Tx, payment *store.NewPayment) error {
	if payment.Appointment != nil {
		appointment, err := tx.AppointmentByID(ctx, payment.Org, *payment.Appointment)
		if err != nil {
			return rest.NotFoundIfNoRows("Appointment", err)
		}
		if payment.Client == uuid.Nil {
			payment.Client = appointment.ClientID
		}
		if payment.Client == appointment.ClientID {
			return nil
		}
	}
	_, err := tx.LoadClient(ctx, payment.Org, payment.Client)
	return err
}
