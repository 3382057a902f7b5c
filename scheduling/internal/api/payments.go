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
	ID                uuid.UUID     `json:"id" doc:"Names the payment"`
	OrgID             uuid.UUID     `json:"org_id" doc:"Organization that owns it"`
	AppointmentID     *uuid.UUID    `json:"appointment_id" doc:"Appointment it belongs to; null: none"`
	ClientID          uuid.UUID     `json:"client_id" doc:"Client who pays"`
	Amount            booking.Cents `json:"amount" doc:"What is to be paid, in the organization's currency"`
	Method            string        `json:"method" enum:"pix,cash,credit_card,debit_card" doc:"How it was paid: pix, cash, credit_card or debit_card"`
	Description       string        `json:"description" doc:"What it was for"`
	Status            string        `json:"status" enum:"pending,paid,expired,cancelled,refunded,failed" doc:"State of the payment"`
	Kind              string        `json:"kind" enum:"full,deposit,other" doc:"What is paid: the full price, the deposit, or something other"`
	Provider          *string       `json:"provider" doc:"Where it was charged; null: recorded by hand"`
	ProviderPaymentID *string       `json:"provider_payment_id" doc:"Its id there; null: none"`
	PaidAt            *time.Time    `json:"paid_at" doc:"When the money came; null: it did not"`
	ExpiresAt         *time.Time    `json:"expires_at" doc:"Until when it can be paid; null: without end"`
	RefundedAmount    booking.Cents `json:"refunded_amount" doc:"How much went back"`
	CreatedBy         *uuid.UUID    `json:"created_by" doc:"User who recorded it; null: nobody did"`
	CreatedAt         time.Time     `json:"created_at" doc:"When it was stored"`
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
	Month    string `query:"month" pattern:"^[0-9]{4}-[0-9]{2}$" doc:"YYYY-MM; absent: this month"`
	Status   string `query:"status" enum:"pending,paid,expired,cancelled,refunded,failed" doc:"Only those with this status"`
	ClientID string `query:"client_id" format:"uuid" doc:"Only those of this client"`
}

// Statement is a page of a month's payments with their totals.
type Statement struct {
	Page[Payment]
	Month         string          `json:"month" doc:"The one of the statement, YYYY-MM"`
	TotalPaid     booking.Cents   `json:"total_paid" doc:"Sum of what came in, before refunds"`
	TotalPending  booking.Cents   `json:"total_pending" doc:"Sum of what is still to be paid"`
	TotalRefunded booking.Cents   `json:"total_refunded" doc:"Sum of what went back"`
	ByMethod      []MethodSummary `json:"by_method" nullable:"false" doc:"total_paid by way of payment: the amounts add up to it"`
}

// MethodSummary is the total of a payment method.
type MethodSummary struct {
	Method string        `json:"method" doc:"How it was paid: pix, cash, credit_card or debit_card"`
	Amount booking.Cents `json:"amount" doc:"Sum in the organization's currency"`
	Count  int           `json:"count" doc:"How many payments it sums up"`
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
			method.Amount += booking.Cents(sum.Amount)
			method.Count += sum.Payments
		}
	}
	statement.Page = rest.NewPage(toPayments(rows, org.Zone), total, in.Paging)
	return &struct{ Body Statement }{statement}, err
}

type createPaymentInput struct {
	IdempotencyKey string `header:"Idempotency-Key" minLength:"1" maxLength:"255" doc:"The same request with the same key records one payment, for 24 hours"`
	Body           struct {
		AppointmentID nullable[uuid.UUID]     `json:"appointment_id,omitempty" doc:"null or absent: of no appointment"`
		ClientID      optional[uuid.UUID]     `json:"client_id,omitempty" doc:"Needed without an appointment"`
		Amount        optional[booking.Cents] `json:"amount" exclusiveMinimum:"0" maximum:"99999999.99" doc:"What was paid, above 0"`
		Method        string                  `json:"method" enum:"pix,cash,credit_card,debit_card" doc:"How it was paid"`
		Description   optional[string]        `json:"description,omitempty" maxLength:"200" doc:"What it was for"`
		Kind          string                  `json:"kind,omitempty" enum:"full,deposit,other" default:"full" doc:"What is paid: the full price, the deposit, or something other"`
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

type refundPaymentInput struct {
	ID             uuid.UUID `path:"id" format:"uuid" doc:"Payment of which money went back"`
	IdempotencyKey string    `header:"Idempotency-Key" minLength:"1" maxLength:"255" doc:"The same request with the same key records one refund, for 24 hours"`
	Body           struct {
		Amount optional[booking.Cents] `json:"amount,omitempty" exclusiveMinimum:"0" maximum:"99999999.99" doc:"What went back, above 0; absent: what is left of the payment"`
	} `nameHint:"RefundByHand"`
}

// refundPayment records that staff gave money back. It moves none.
func (a *API) refundPayment(ctx context.Context, in *refundPaymentInput) (*struct{ Body Payment }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	amount := in.Body.Amount.Pointer()
	var errs fieldErrors
	if amount != nil {
		errs.Check(*amount > 0 && *amount <= booking.MaxPrice, "body.amount", "must be above 0 and at most "+booking.MaxPrice.String())
		errs.checkAmount(amount, org.Currency, "body.amount")
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	idempotency, err := newIdempotencyKey("payments.refund "+in.ID.String(), in.IdempotencyKey, &in.Body)
	if err != nil {
		return nil, err
	}
	refunded, err := a.store.RecordPayment(ctx, org.ID, idempotency, func(tx *store.Tx) (store.PaymentDetail, error) {
		return tx.RecordRefund(ctx, org, store.RefundByHand{Payment: in.ID, Amount: amount, By: currentActor(ctx).User})
	})
	return &struct{ Body Payment }{toPayment(refunded, org.Zone)}, err
}
