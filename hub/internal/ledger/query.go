package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/mask"
)

// Item is one delivery as the log shows it (interface document 3, "Webhook log
// entry", and the hub's own fields).
type Item struct {
	ID            uuid.UUID       `json:"id" format:"uuid" doc:"Delivery id"`
	EventID       string          `json:"event_id" doc:"Event id" example:"evt_0123456789abcdef"`
	Direction     string          `json:"direction" enum:"inbound,outbound"`
	Product       string          `json:"product" doc:"Product the event came from"`
	TenantID      uuid.UUID       `json:"tenant_id" format:"uuid"`
	Environment   string          `json:"environment" enum:"live,test"`
	IntegrationID *uuid.UUID      `json:"integration_id" format:"uuid" nullable:"true" doc:"Integration it went to, or null"`
	EndpointID    *uuid.UUID      `json:"endpoint_id" format:"uuid" nullable:"true" doc:"Endpoint it went to, or null"`
	EventType     string          `json:"event_type"`
	CorrelationID *string         `json:"correlation_id"`
	Payload       json.RawMessage `json:"payload" doc:"The envelope as sent, CPF numbers masked; {\"erased\":true} once the person it was about was deleted; null once its retention ended"`
	Status        string          `json:"status" enum:"pending,delivered,parked,failed"`
	Reason        *string         `json:"reason" doc:"Why it is parked or failed"`
	StatusCode    *int            `json:"status_code" doc:"HTTP status of the last attempt; null without an answer"`
	ResponseBody  *string         `json:"response_body" doc:"Beginning of the last answer's body, at most 4 KiB"`
	Delivered     bool            `json:"delivered"`
	Retries       int             `json:"retries" doc:"Attempts after the first"`
	DurationMS    *int            `json:"duration_ms" doc:"Duration of the last attempt, milliseconds"`
	CreatedAt     time.Time       `json:"created_at"`
	NextAttemptAt *time.Time      `json:"next_attempt_at" doc:"When the next attempt is due; null while one is under way or none will come"`
	FinishedAt    *time.Time      `json:"finished_at"`
	ChangedAt     time.Time       `json:"-"` // when its last attempt was stored, or it was settled or accepted, by the database's clock
}

// Reader answers questions about the log.
type Reader struct {
	pool   *pgxpool.Pool
	effort effort
	writer *Writer // of this process, or nil
}

// NewReader makes a reader.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool, effort: usualEffort} }

// Behind makes the reader wait for what this process's writer has at hand before it
// reads what is newest.
func (r *Reader) Behind(w *Writer) *Reader {
	r.writer = w
	return r
}

// readItems reads Items by id, with their events and their last attempts, from the
// tables of one day: on the parent tables the planning alone takes longer.
const readItems = `
	select d.id, d.event_id, d.inbound, d.product, d.tenant_id, d.environment, d.target_id, d.integration, d.event_type,
		d.correlation_id, e.body, d.status, d.reason, d.status_code,
		coalesce(a.response_body, d.response_body), d.attempts, coalesce(d.duration_ms, d.total_us / 1000),
		d.created_at, d.next_attempt_at, d.finished_at, greatest(a.stored_at, d.finished_at, d.created_at)
	from hub.deliveries_%[1]s d
	left join lateral (
		select body from hub.events_%[1]s e
		where e.seq = (overlay(d.id::text placing '0000' from 33))::uuid) e on true
	left join lateral (
		select response_body, stored_at from hub.attempts_%[1]s a
		where a.delivery_id = d.id and d.started_at is null order by a.number desc, a.started_at desc limit 1) a on true
	where d.id = any($1::uuid[]) order by d.id desc`

// List gives the newest deliveries that match, older than the before-th one where
// it is set; up to limit rows.
func (r *Reader) List(ctx context.Context, f Filter, before *uuid.UUID, limit int) ([]Item, error) {
	if before == nil && (f.Status == "" || f.Status == delivery.Pending.String()) {
		if err := r.unfold(ctx); err != nil {
			return nil, err
		}
	}
	p, ok, err := f.plan(ctx, r.pool, r.effort, nil, before)
	if err != nil || !ok {
		return nil, err
	}
	ids, err := r.find(ctx, &p, limit)
	if err != nil {
		return nil, err
	}
	return r.items(ctx, ids)
}

// unfold gives rows to the deliveries that leases stand for, so that what was just
// accepted is seen. Each is given its row once, whoever asks for it.
func (r *Reader) unfold(ctx context.Context) error {
	if r.writer != nil {
		r.writer.Sync(ctx)
	}
	for tries := 1; ; tries++ {
		_, err := r.pool.Exec(ctx, `select hub.unfold_leases(array(select id from hub.leases))`)
		var pg *pgconn.PgError
		switch {
		case err == nil:
			return nil
		case tries < mostUnfolds && errors.As(err, &pg) && pg.Code == deadlockDetected:
			// Writers of attempts make the same rows, in the order of the attempts; who has
			// to give way goes again, and finds them made.
		default:
			return fmt.Errorf("reading what was just accepted: %w", err)
		}
	}
}

// deadlockDetected is the code of PostgreSQL for a transaction that gave way to another.
const deadlockDetected = "40P01"

// mostUnfolds is how often a reader tries to give rows to what was just accepted.
const mostUnfolds = 5

// Mentioning gives those of the newest deliveries that match whose payload has one of
// some words in it, letter for letter, newest first and up to limit. It looks at so many
// deliveries, however large the log is.
func (r *Reader) Mentioning(ctx context.Context, f Filter, words []string, among, limit int) ([]Item, error) {
	p, ok, err := f.plan(ctx, r.pool, r.effort, nil, nil)
	if err != nil || !ok {
		return nil, err
	}
	ids, err := r.find(ctx, &p, among)
	if err != nil {
		return nil, err
	}
	needles := make([][]byte, len(words))
	for i, word := range words {
		needles[i] = []byte(word)
	}
	var found []uuid.UUID
	for len(ids) > 0 && len(found) < limit {
		n := sameDay(ids)
		some, err := readIDs(ctx, r.pool, "reading payloads", fmt.Sprintf(`
			select d.id from unnest($1::uuid[]) d(id)
			join hub.events_%s e on e.seq = (overlay(d.id::text placing '0000' from 33))::uuid
			where exists (select from unnest($2::bytea[]) w(word) where position(w.word in e.body) > 0)
			order by d.id desc limit $3`, logid.Partition(ids[0])), ids[:n], needles, limit-len(found))
		if err != nil && !noTable(err) { // the day's retention has ended
			return nil, err
		}
		found, ids = append(found, some...), ids[n:]
	}
	return r.items(ctx, found)
}

// sameDay counts the first ids of one day.
func sameDay(ids []uuid.UUID) int {
	n := 1
	for n < len(ids) && logid.SameDay(ids[0], ids[n]) {
		n++
	}
	return n
}

// items reads deliveries by id; the ids are sorted, newest first.
func (r *Reader) items(ctx context.Context, ids []uuid.UUID) ([]Item, error) {
	var items []Item
	for len(ids) > 0 {
		n := sameDay(ids)
		rows, err := r.pool.Query(ctx, fmt.Sprintf(readItems, logid.Partition(ids[0])), ids[:n])
		var some []Item
		if err == nil {
			some, err = collectItems(rows)
		}
		if err != nil && !noTable(err) { // the day's retention has ended, or it has not begun
			return nil, fmt.Errorf("reading deliveries: %w", err)
		}
		items, ids = append(items, some...), ids[n:]
	}
	return items, nil
}

func collectItems(rows pgx.Rows) ([]Item, error) {
	items, err := pgx.CollectRows(rows, scanItem)
	if err != nil {
		return nil, fmt.Errorf("reading deliveries: %w", err)
	}
	return items, nil
}

func scanItem(row pgx.CollectableRow) (Item, error) {
	var it Item
	var event int64
	var inbound, integration bool
	var target uuid.UUID
	var body, response []byte
	var status delivery.Status
	var attempts int
	err := row.Scan(&it.ID, &event, &inbound, &it.Product, &it.TenantID, &it.Environment, &target, &integration, &it.EventType,
		&it.CorrelationID, &body, &status, &it.Reason, &it.StatusCode, &response, &attempts, &it.DurationMS,
		&it.CreatedAt, &it.NextAttemptAt, &it.FinishedAt, &it.ChangedAt)
	if err != nil {
		return it, err
	}
	it.EventID, it.Status, it.Delivered = hub.FormatEventID(uint64(event)), status.String(), status == delivery.Delivered
	it.Direction = "outbound"
	if inbound {
		it.Direction = "inbound"
	}
	if integration {
		it.IntegrationID = &target
	} else {
		it.EndpointID = &target
	}
	it.Retries = max(0, attempts-1)
	if body != nil {
		it.Payload = mask.CPF(body)
	}
	it.ResponseBody = shown(response)
	return it, nil
}
