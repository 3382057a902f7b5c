package api

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/rest"
)

// Payment is a payment of a patient, made or owed.
type Payment struct {
	ID            uuid.UUID          `json:"id" doc:"Names the payment in paths"`
	PatientID     uuid.UUID          `json:"patient_id" doc:"Patient it belongs to"`
	AppointmentID *uuid.UUID         `json:"appointment_id" doc:"What it is for; null: no appointment"`
	Amount        care.Amount        `json:"amount" doc:"What is to be paid, in reais"`
	Description   string             `json:"description" doc:"What it is for; may be empty"`
	DueDate       string             `json:"due_date" doc:"Last day to pay without being late, YYYY-MM-DD" example:"2026-03-02"`
	Status        care.PaymentStatus `json:"status" enum:"pending,paid,overdue,cancelled" doc:"State it is in"`
	Method        *string            `json:"method" doc:"How it was paid; null: it was not"`
	PaidAt        *time.Time         `json:"paid_at" doc:"When it was paid; null: it was not"`
	CreatedAt     time.Time          `json:"created_at" doc:"When it was stored"`
}

func toPayment(p store.Payment) Payment {
	return Payment{
		ID: p.ID, PatientID: p.PatientID, AppointmentID: p.AppointmentID, Amount: p.Amount, Description: p.Description, DueDate: formatDate(p.DueDate),
		Status: p.Status, Method: p.Method, PaidAt: clampOptionalTime(p.PaidAt), CreatedAt: p.CreatedAt.UTC(),
	}
}

type paymentOutput struct{ Body Payment }

type paymentInput struct {
	rest.IDParam
	Body struct {
		Amount        rest.Optional[care.Amount] `json:"amount" exclusiveMinimum:"0" maximum:"9999999999.99" doc:"What is to be paid, above 0" example:"150"`
		Description   rest.Optional[string]      `json:"description,omitempty" maxLength:"200" doc:"What it is for"`
		DueDate       string                     `json:"due_date" format:"date" doc:"Last day to pay without being late, YYYY-MM-DD" example:"2026-03-02"`
		Status        care.PaymentStatus         `json:"status,omitempty" enum:"pending,paid" default:"pending" doc:"pending: it is to be paid; paid: it was, now"`
		AppointmentID rest.Nullable[uuid.UUID]   `json:"appointment_id,omitempty" doc:"null or absent: of no appointment"`
		Method        rest.Nullable[string]      `json:"method,omitempty" maxLength:"40" doc:"Of one that is paid; null or absent: not known"`
		PaidAt        rest.Optional[string]      `json:"paid_at,omitempty" maxLength:"35" doc:"Of one that is paid; absent: now"`
	} `nameHint:"NewPayment"`
}

// parsePaidFields parses the method and the time of a payment that was made; the time is now
// by default.
func (a *API) parsePaidFields(method rest.Nullable[string], paidAtField rest.Optional[string], errs *rest.FieldErrors) (*string, time.Time) {
	var paymentMethod *string
	method = emptyAsNull(method)
	method.Value = care.RedactCPFs(method.Value)
	method.ApplyTo(&paymentMethod)
	errs.CheckLength(method.Value, "body.method", 0, 40)
	paidAt := a.host.Now()
	if paidAtField.HasValue() {
		paidAt = errs.ParseTime(paidAtField.Value, "body.paid_at")
		errs.Check(!paidAt.After(a.host.Now().Add(clockSkew)), "body.paid_at", "must not be in the future")
	}
	return paymentMethod, paidAt
}

func (a *API) createPayment(ctx context.Context, in *paymentInput) (*paymentOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	var errs rest.FieldErrors
	d := store.PaymentData{Amount: b.Amount.Value, Description: care.Redact(strings.TrimSpace(b.Description.Value)), DueDate: errs.ParseDate(b.DueDate, "body.due_date"), Status: b.Status}
	b.AppointmentID.ApplyTo(&d.AppointmentID)
	errs.Check(d.Amount > 0 && d.Amount <= care.MaxAmount, "body.amount", "must be above 0 and at most "+care.MaxAmount.String())
	errs.CheckLength(d.Description, "body.description", 0, 200)
	if method, paidAt := a.parsePaidFields(b.Method, b.PaidAt, &errs); d.Status == care.Paid {
		d.Method, d.PaidAt = method, &paidAt
	} else {
		errs.Check(method == nil, "body.method", "is of a payment that is paid: say so with status paid")
		errs.Check(!b.PaidAt.HasValue(), "body.paid_at", "is of a payment that is paid: say so with status paid")
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	var payment store.Payment
	err = a.store.InTx(ctx, "making a payment", func(tx *store.Tx) error {
		payment, err = tx.CreatePayment(ctx, scope, in.ID, d)
		return err
	})
	return &paymentOutput{toPayment(payment)}, err
}

func (a *API) listPayments(ctx context.Context, in *PatientItemsInput) (*struct{ Body rest.Page[Payment] }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.requirePatient(ctx, scope, in.ID); err != nil {
		return nil, err
	}
	rows, total, err := a.store.ListPayments(ctx, scope, in.ID, toPage(in.PageParams))
	return &struct{ Body rest.Page[Payment] }{rest.NewPage(rest.Map(rows, toPayment), total, in.PageParams)}, err
}

type payFields struct {
	Method rest.Nullable[string] `json:"method,omitempty" maxLength:"40" doc:"null or absent: not known"`
	PaidAt rest.Optional[string] `json:"paid_at,omitempty" maxLength:"35" doc:"Absent: now"`
}

type payInput struct {
	rest.IDParam
	Body *payFields `nameHint:"Pay" required:"false"`
}

func (a *API) pay(ctx context.Context, in *payInput) (*paymentOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	var fields payFields
	if in.Body != nil {
		fields = *in.Body
	}
	var errs rest.FieldErrors
	method, paidAt := a.parsePaidFields(fields.Method, fields.PaidAt, &errs)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	var payment store.Payment
	err = a.store.InTx(ctx, "recording a payment", func(tx *store.Tx) error {
		payment, err = tx.Pay(ctx, scope, in.ID, method, paidAt)
		return err
	})
	return &paymentOutput{toPayment(payment)}, err
}

func (a *API) cancelPayment(ctx context.Context, in *rest.IDParam) (*paymentOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	var payment store.Payment
	err = a.store.InTx(ctx, "cancelling a payment", func(tx *store.Tx) error {
		payment, err = tx.CancelPayment(ctx, scope, in.ID)
		return err
	})
	return &paymentOutput{toPayment(payment)}, err
}

type overdueOutput struct {
	Body struct {
		Overdue int `json:"overdue" doc:"Payments that became overdue now"`
	} `nameHint:"Overdue"`
}

func (a *API) runOverdue(ctx context.Context, _ *struct{}) (*overdueOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	out := &overdueOutput{}
	out.Body.Overdue, err = a.store.MarkOverdue(ctx, scope)
	return out, err
}
