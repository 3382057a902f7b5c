package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
)

// NameSandbox is the sandbox's name in the settings.
const NameSandbox = "sandbox"

// SandboxConfig configures a [Sandbox].
type SandboxConfig struct {
	DB     *pgxpool.Pool    // with the product's schema; the charges are kept there
	Secret string           // signs its webhooks
	Do     hub.Doer         //
	Now    func() time.Time //
}

// Sandbox is a provider for development. Its charges have the real format but no bank
// knows them; [Sandbox.Pay] pays them.
type Sandbox struct{ config SandboxConfig }

var _ Provider = (*Sandbox)(nil)

// NewSandbox returns a sandbox provider.
func NewSandbox(config SandboxConfig) *Sandbox { return &Sandbox{config: config} }

// Name implements [Provider].
func (s *Sandbox) Name() string { return NameSandbox }

// RequiresPayerEmail implements [Provider].
func (s *Sandbox) RequiresPayerEmail() bool { return false }

// Create implements [Provider].
func (s *Sandbox) Create(ctx context.Context, order Order) (Charge, error) {
	if err := order.check(s.config.Now()); err != nil {
		return Charge{}, err
	}
	const longestTxID = 25
	txid := strings.ReplaceAll(uuid.NewString(), "-", "")[:longestTxID]
	code := brCode{
		key:         uuid.NewString(), // a random key, of no account
		description: order.Description, merchant: order.Payee.Name, city: order.Payee.City, amount: order.Amount, txid: txid,
	}.String()
	_, err := s.config.DB.Exec(ctx, `
		insert into scheduling.sandbox_charges (id, order_id, txid, amount_cents, code, notify_url, expires_at)
		values ($1, $2, $3, $4, $5, $6, $7) on conflict (order_id) do nothing`,
		"sbx_"+txid, order.ID, txid, int64(order.Amount), code, order.NotifyURL, order.ExpiresAt)
	if err != nil {
		return Charge{}, providerError(fmt.Errorf("storing a charge: %w", err))
	}
	charge, _, err := s.loadCharge(ctx, s.config.DB, "order_id = $1", order.ID)
	if err != nil {
		return Charge{}, err
	}
	if err := charge.Check(order.ID, order.Amount, order.Currency); err != nil {
		return Charge{}, providerError(err) // the same ID with another amount
	}
	return charge, nil
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// loadCharge loads the charge that matches a condition, and the address of its webhook.
func (s *Sandbox) loadCharge(ctx context.Context, db querier, condition string, value any) (Charge, string, error) {
	charge := Charge{Currency: Currency}
	var amount, refunded int64
	var paid *time.Time
	var notify string
	err := db.QueryRow(ctx, `
		select id, order_id, txid, status, amount_cents, refunded_cents, code, notify_url, expires_at, paid_at
		from scheduling.sandbox_charges where `+condition, value).
		Scan(&charge.ID, &charge.Order, &charge.TxID, &charge.Status, &amount, &refunded, &charge.Code, &notify, &charge.ExpiresAt, &paid)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Charge{}, "", unknownChargeError()
	case err != nil:
		return Charge{}, "", providerError(fmt.Errorf("reading a charge: %w", err))
	}
	charge.Amount, charge.Refunded = booking.Cents(amount), booking.Cents(refunded)
	if paid != nil {
		charge.PaidAt = *paid
	}
	if charge.Status == Pending && !charge.ExpiresAt.After(s.config.Now()) {
		charge.Status = Expired
	}
	return charge, notify, nil
}

// Read implements [Provider].
func (s *Sandbox) Read(ctx context.Context, id string) (Charge, error) {
	charge, _, err := s.loadCharge(ctx, s.config.DB, "id = $1", id)
	if err != nil {
		return Charge{}, err
	}
	return charge, nil
}

// changeCharge runs change on a locked charge.
func (s *Sandbox) changeCharge(ctx context.Context, condition, value string, change func(tx pgx.Tx, charge Charge) error) (Charge, string, error) {
	var charge Charge
	var notify string
	err := pgx.BeginFunc(ctx, s.config.DB, func(tx pgx.Tx) (err error) {
		if charge, notify, err = s.loadCharge(ctx, tx, condition+" for update", value); err != nil {
			return err
		}
		return change(tx, charge)
	})
	var hubErr *hub.Error
	if err != nil && !errors.As(err, &hubErr) {
		err = providerError(fmt.Errorf("changing a charge: %w", err))
	}
	return charge, notify, err
}

// Cancel implements [Provider].
func (s *Sandbox) Cancel(ctx context.Context, id string) error {
	_, _, err := s.changeCharge(ctx, "id = $1", id, func(tx pgx.Tx, charge Charge) error {
		if charge.Status != Pending && charge.Status != Expired {
			return chargeStateError()
		}
		_, err := tx.Exec(ctx, `update scheduling.sandbox_charges set status = 'cancelled' where id = $1`, id)
		return err
	})
	return err
}

// Refund implements [Provider].
func (s *Sandbox) Refund(ctx context.Context, id string, refund Refund) error {
	if refund.Amount <= 0 {
		return hub.Invalid("body.amount", "must be more than 0")
	}
	_, _, err := s.changeCharge(ctx, "id = $1", id, func(tx pgx.Tx, charge Charge) error {
		inserted, err := tx.Exec(ctx, `insert into scheduling.sandbox_refunds (id, charge_id) values ($1, $2) on conflict (id) do nothing`, refund.ID, id)
		if err != nil || inserted.RowsAffected() == 0 {
			return err // it was made before
		}
		if charge.Status != Paid || charge.Refunded+refund.Amount > charge.Amount {
			return chargeStateError()
		}
		_, err = tx.Exec(ctx, `
			update scheduling.sandbox_charges set refunded_cents = refunded_cents + $2,
				status = case when refunded_cents + $2 = amount_cents then 'refunded' else status end
			where id = $1`, id, int64(refund.Amount))
		return err
	})
	return err
}

// sandboxNotice is the body of the sandbox's webhooks.
type sandboxNotice struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Charge string `json:"charge"`
}

// Pay pays a charge by its transaction id and sends the signed webhook. For a paid
// charge it only sends the webhook again.
func (s *Sandbox) Pay(ctx context.Context, txid string) (Charge, error) {
	charge, notify, err := s.changeCharge(ctx, "txid = $1", txid, func(tx pgx.Tx, charge Charge) error {
		switch charge.Status {
		case Paid:
			return nil
		case Pending:
			_, err := tx.Exec(ctx, `update scheduling.sandbox_charges set status = 'paid', paid_at = $2 where id = $1`, charge.ID, s.config.Now())
			return err
		}
		return chargeStateError()
	})
	if err != nil {
		return Charge{}, err
	}
	if err := s.sendWebhook(ctx, notify, charge.ID); err != nil {
		return Charge{}, err
	}
	return s.Read(ctx, charge.ID)
}

func (s *Sandbox) sendWebhook(ctx context.Context, address, charge string) error {
	if address == "" {
		return nil
	}
	body, err := json.Marshal(sandboxNotice{ID: "paid_" + charge, Type: "charge.paid", Charge: charge})
	if err != nil {
		return fmt.Errorf("encoding a webhook: %w", err)
	}
	req, err := hub.NewRequest(ctx, http.MethodPost, address, body)
	if err != nil {
		return err
	}
	req.Header.Set(hub.HeaderSignature, hub.SignBody(s.config.Secret, body))
	answer, err := hub.Exchange(s.config.Do, req)
	if err == nil {
		err = answer.StatusError()
	}
	if err != nil {
		return providerError(fmt.Errorf("sending the webhook: %w", err))
	}
	return nil
}

// DecodeEvent implements [Provider]: X-Webhook-Signature signs the body.
func (s *Sandbox) DecodeEvent(webhook Inbound) (Event, error) {
	values := webhook.Header.Values(hub.HeaderSignature)
	if len(values) != 1 || s.config.Secret == "" || !hub.VerifyBody(values[0], webhook.Body, s.config.Secret) {
		return Event{}, signatureError()
	}
	var body sandboxNotice
	if json.Unmarshal(webhook.Body, &body) != nil || body.ID == "" {
		return Event{}, malformedError()
	}
	if body.Type != "charge.paid" {
		body.Charge = ""
	}
	return Event{ID: body.ID, ChargeID: body.Charge}, nil
}
