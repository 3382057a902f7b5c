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

// NameSandbox is the sandbox's in the settings.
const NameSandbox = "sandbox"

// SandboxConfig is what a [Sandbox] works with.
type SandboxConfig struct {
	DB     *pgxpool.Pool    // with the product's schema; the charges are kept there
	Secret string           // signs its webhooks
	Do     hub.Doer         //
	Now    func() time.Time //
}

// Sandbox is a provider for developers: its charges are real in form, no bank knows
// them, and [Sandbox.Pay] pays them.
type Sandbox struct{ config SandboxConfig }

var _ Provider = (*Sandbox)(nil)

// NewSandbox makes the provider.
func NewSandbox(c SandboxConfig) *Sandbox { return &Sandbox{config: c} }

// Name implements [Provider].
func (s *Sandbox) Name() string { return NameSandbox }

// NeedsEmail implements [Provider].
func (s *Sandbox) NeedsEmail() bool { return false }

// Create implements [Provider].
func (s *Sandbox) Create(ctx context.Context, o Order) (Charge, error) {
	if err := o.check(s.config.Now()); err != nil {
		return Charge{}, err
	}
	const longestTxID = 25
	txid := strings.ReplaceAll(uuid.NewString(), "-", "")[:longestTxID]
	code := brCode{
		key:         uuid.NewString(), // a random key, which is nobody's
		description: o.Description, merchant: o.Payee.Name, city: o.Payee.City, amount: o.Amount, txid: txid,
	}.String()
	_, err := s.config.DB.Exec(ctx, `
		insert into scheduling.sandbox_charges (id, order_id, txid, amount_cents, code, notify_url, expires_at)
		values ($1, $2, $3, $4, $5, $6, $7) on conflict (order_id) do nothing`,
		"sbx_"+txid, o.ID, txid, int64(o.Amount), code, o.NotifyURL, o.ExpiresAt)
	if err != nil {
		return Charge{}, failed(fmt.Errorf("storing a charge: %w", err))
	}
	charge, _, err := s.find(ctx, s.config.DB, "order_id = $1", o.ID)
	if err != nil {
		return Charge{}, err
	}
	if err := charge.Check(o.ID, o.Amount, o.Currency); err != nil {
		return Charge{}, failed(err) // the same ID with another amount
	}
	return charge, nil
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// find reads the charge that fits a condition, and where its webhook goes.
func (s *Sandbox) find(ctx context.Context, db querier, where string, value any) (Charge, string, error) {
	c := Charge{Currency: Currency}
	var amount, refunded int64
	var paid *time.Time
	var notify string
	err := db.QueryRow(ctx, `
		select id, order_id, txid, status, amount_cents, refunded_cents, code, notify_url, expires_at, paid_at
		from scheduling.sandbox_charges where `+where, value).
		Scan(&c.ID, &c.Order, &c.TxID, &c.Status, &amount, &refunded, &c.Code, &notify, &c.ExpiresAt, &paid)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Charge{}, "", unknownCharge()
	case err != nil:
		return Charge{}, "", failed(fmt.Errorf("reading a charge: %w", err))
	}
	c.Amount, c.Refunded = booking.Cents(amount), booking.Cents(refunded)
	if paid != nil {
		c.PaidAt = *paid
	}
	if c.Status == Pending && !c.ExpiresAt.After(s.config.Now()) {
		c.Status = Expired
	}
	if c.QR, err = QR(c.Code); err != nil {
		return Charge{}, "", failed(err)
	}
	return c, notify, nil
}

// Read implements [Provider].
func (s *Sandbox) Read(ctx context.Context, id string) (Charge, error) {
	charge, _, err := s.find(ctx, s.config.DB, "id = $1", id)
	return charge, err
}

// change does something to a charge while nobody else can.
func (s *Sandbox) change(ctx context.Context, where, value string, change func(tx pgx.Tx, c Charge) error) (Charge, string, error) {
	var charge Charge
	var notify string
	err := pgx.BeginFunc(ctx, s.config.DB, func(tx pgx.Tx) (err error) {
		if charge, notify, err = s.find(ctx, tx, where+" for update", value); err != nil {
			return err
		}
		return change(tx, charge)
	})
	var told *hub.Error
	if err != nil && !errors.As(err, &told) {
		err = failed(fmt.Errorf("changing a charge: %w", err))
	}
	return charge, notify, err
}

// Cancel implements [Provider].
func (s *Sandbox) Cancel(ctx context.Context, id string) error {
	_, _, err := s.change(ctx, "id = $1", id, func(tx pgx.Tx, c Charge) error {
		if c.Status != Pending && c.Status != Expired {
			return wrongState()
		}
		_, err := tx.Exec(ctx, `update scheduling.sandbox_charges set status = 'cancelled' where id = $1`, id)
		return err
	})
	return err
}

// Refund implements [Provider].
func (s *Sandbox) Refund(ctx context.Context, id string, r Refund) error {
	if r.Amount <= 0 {
		return hub.Invalid("body.amount", "must be more than 0")
	}
	_, _, err := s.change(ctx, "id = $1", id, func(tx pgx.Tx, c Charge) error {
		made, err := tx.Exec(ctx, `insert into scheduling.sandbox_refunds (id, charge_id) values ($1, $2) on conflict (id) do nothing`, r.ID, id)
		if err != nil || made.RowsAffected() == 0 {
			return err // it was made before
		}
		if c.Status != Paid || c.Refunded+r.Amount > c.Amount {
			return wrongState()
		}
		_, err = tx.Exec(ctx, `
			update scheduling.sandbox_charges set refunded_cents = refunded_cents + $2,
				status = case when refunded_cents + $2 = amount_cents then 'refunded' else status end
			where id = $1`, id, int64(r.Amount))
		return err
	})
	return err
}

// sandboxNotice is the body of its webhooks.
type sandboxNotice struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Charge string `json:"charge"`
}

// Pay pays a charge, by its transaction id, as a person with a phone would, and
// sends the webhook, signed. A charge that is paid is only told of once more.
func (s *Sandbox) Pay(ctx context.Context, txid string) (Charge, error) {
	charge, notify, err := s.change(ctx, "txid = $1", txid, func(tx pgx.Tx, c Charge) error {
		switch c.Status {
		case Paid:
			return nil
		case Pending:
			_, err := tx.Exec(ctx, `update scheduling.sandbox_charges set status = 'paid', paid_at = $2 where id = $1`, c.ID, s.config.Now())
			return err
		}
		return wrongState()
	})
	if err != nil {
		return Charge{}, err
	}
	if err := s.notify(ctx, notify, charge.ID); err != nil {
		return Charge{}, err
	}
	return s.Read(ctx, charge.ID)
}

func (s *Sandbox) notify(ctx context.Context, address, charge string) error {
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
		return failed(fmt.Errorf("sending the webhook: %w", err))
	}
	return nil
}

// Notice implements [Provider]: X-Webhook-Signature signs the body.
func (s *Sandbox) Notice(in Inbound) (Notice, error) {
	values := in.Header.Values(hub.HeaderSignature)
	if len(values) != 1 || s.config.Secret == "" || !hub.VerifyBody(values[0], in.Body, s.config.Secret) {
		return Notice{}, unauthorized()
	}
	var body sandboxNotice
	if json.Unmarshal(in.Body, &body) != nil || body.ID == "" {
		return Notice{}, unreadable()
	}
	if body.Type != "charge.paid" {
		body.Charge = ""
	}
	return Notice{ID: body.ID, Charge: body.Charge}, nil
}
