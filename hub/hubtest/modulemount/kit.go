//go:build unix

package modulemount

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/limit"
	"integrationhub/hub/module"
)

// Published is an event as a product published it.
type Published struct {
	Type string
	Data map[string]any
}

// Publish implements [module.Publisher]: the event is a row of the transaction.
func (h *Mounted) Publish(ctx context.Context, tx pgx.Tx, e hub.Event) (string, error) {
	if h.FailEvent.Load() {
		return "", errors.New("publishing is broken by the test")
	}
	_, err := tx.Exec(ctx, `insert into public.published (tenant_id, event_type, data) values ($1, $2, $3)`, e.TenantID, e.Type, string(e.Data))
	return hub.NewEventID(), err
}

// Events are what was published for a tenant, in order.
func (h *Mounted) Events(tenant uuid.UUID) []Published {
	h.t.Helper()
	rows, err := h.DB.Query(h.t.Context(), `select event_type, data from public.published where tenant_id = $1 order by at`, tenant)
	require.NoError(h.t, err)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Published, error) {
		var one Published
		var data string
		if err := row.Scan(&one.Type, &data); err != nil {
			return one, err
		}
		return one, json.Unmarshal([]byte(data), &one.Data)
	})
	require.NoError(h.t, err)
	return list
}

// tenants keeps what products make known.
type tenants struct{ db *pgxpool.Pool }

// Put implements [module.Tenants].
func (s tenants) Put(ctx context.Context, tx pgx.Tx, t module.Tenant) error {
	_, err := tx.Exec(ctx, `insert into public.tenants (id, name) values ($1, $2) on conflict (id) do update set name = excluded.name`, t.ID, t.Name)
	return err
}

// Get implements [module.Tenants].
func (s tenants) Get(ctx context.Context, id uuid.UUID) (module.Tenant, error) {
	found := module.Tenant{ID: id}
	err := s.db.QueryRow(ctx, `select name from public.tenants where id = $1`, id).Scan(&found.Name)
	if errors.Is(err, pgx.ErrNoRows) {
		err = hub.ErrNotFound
	}
	return found, err
}

// ByRef implements [module.Tenants].
func (s tenants) ByRef(context.Context, string) (module.Tenant, error) {
	return module.Tenant{}, hub.ErrNotFound
}

// nobody is connected, and no job is run.
type nobody struct{}

// List implements [module.Peers].
func (nobody) List(context.Context, uuid.UUID, hub.Environment) ([]module.Integration, error) {
	return nil, nil
}

// Call implements [module.Peers].
func (nobody) Call(context.Context, uuid.UUID, hub.Call) (json.RawMessage, error) {
	return nil, hub.ErrNotFound
}

// Enqueue implements [module.Jobs].
func (nobody) Enqueue(context.Context, pgx.Tx, module.Run) error { return nil }

// Allow implements [module.Limits], once [Mounted.Limited] is set.
func (h *Mounted) Allow(ctx context.Context, name, subject string, most int64, period time.Duration) error {
	if !h.Limited.Load() {
		return nil
	}
	return h.limiter.Allow(ctx, name, subject, limit.Rate{Limit: most, Period: period}).Err()
}

// mails keeps what products send as rows of the table mails.
type mails struct{}

// Send implements [module.Mailer].
func (mails) Send(ctx context.Context, tx pgx.Tx, m module.Mail) error {
	_, err := tx.Exec(ctx, `insert into public.mails (recipient, body) values ($1, $2)`, m.To, m.Text)
	return err
}

// Forget implements [module.Mailer].
func (mails) Forget(ctx context.Context, tx pgx.Tx, address string) error {
	_, err := tx.Exec(ctx, `delete from public.mails where lower(recipient) = lower($1)`, address)
	return err
}

// files keeps pictures in memory.
type files struct{ stored *sync.Map }

// Put implements [module.Files].
func (f files) Put(_ context.Context, p module.Picture) (string, error) {
	name := uuid.NewString()
	f.stored.Store(name, p)
	return name, nil
}

// URL implements [module.Files].
func (files) URL(name string) string { return "https://files.example.com/" + name }

// Delete implements [module.Files].
func (f files) Delete(_ context.Context, name string) error {
	f.stored.Delete(name)
	return nil
}

// Stored counts the pictures that are kept.
func (h *Mounted) Stored() (n int) {
	h.stored.Range(func(any, any) bool { n++; return true })
	return n
}

// counter counts queries.
type counter struct{ n *atomic.Int64 }

// TraceQueryStart implements pgx.QueryTracer.
func (c counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (c counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
