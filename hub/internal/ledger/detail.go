package ledger

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/mask"
)

// Detail is one delivery with its attempts.
type Detail struct {
	Item
	Attempts []AttemptItem `json:"attempts" nullable:"false" doc:"Every attempt, oldest first"`
}

// AttemptItem is one attempt as the log shows it. Times are in milliseconds; a
// phase that a kept-alive connection spared is 0.
type AttemptItem struct {
	Number          int               `json:"number"`
	StartedAt       time.Time         `json:"started_at"`
	StatusCode      *int              `json:"status_code" doc:"null where no answer came"`
	Error           *string           `json:"error" doc:"Why there is no complete answer"`
	Phases          Phases            `json:"phases"`
	RequestHeaders  map[string]string `json:"request_headers" doc:"As sent, secrets masked"`
	ResponseHeaders map[string]string `json:"response_headers"`
	ResponseBody    *string           `json:"response_body" doc:"Its beginning, at most 4 KiB; {\"erased\":true} once it was erased with the payload"`
}

// Phases is where the time of an attempt went, in milliseconds.
type Phases struct {
	QueueMS     float64 `json:"queue_ms" doc:"Due until started"`
	DNSMS       float64 `json:"dns_ms"`
	ConnectMS   float64 `json:"connect_ms"`
	TLSMS       float64 `json:"tls_ms"`
	FirstByteMS float64 `json:"first_byte_ms" doc:"Request written until the first byte of the answer"`
	TotalMS     float64 `json:"total_ms"`
}

// Get reads one delivery with its attempts; ErrNotFound where there is none.
func (r *Reader) Get(ctx context.Context, id uuid.UUID) (Detail, error) {
	items, err := r.items(ctx, []uuid.UUID{id})
	if err == nil && len(items) == 0 {
		if err = r.unfold(ctx); err == nil {
			items, err = r.items(ctx, []uuid.UUID{id})
		}
	}
	if err != nil {
		return Detail{}, err
	}
	if len(items) == 0 {
		return Detail{}, errNotFound
	}
	detail := Detail{Item: items[0], Attempts: []AttemptItem{}}
	rows, err := r.pool.Query(ctx, `
		select number, error, `+traceColumns+` from hub.attempts_`+logid.Partition(id)+` where delivery_id = $1
		union all
		select 1, null, `+traceColumns+` from hub.deliveries_`+logid.Partition(id)+` where id = $1 and started_at is not null
		order by number, started_at`, id)
	if err != nil {
		return Detail{}, fmt.Errorf("reading attempts: %w", err)
	}
	attempts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (AttemptItem, error) {
		return scanAttempt(row, detail.Item)
	})
	if err != nil {
		return Detail{}, fmt.Errorf("reading attempts: %w", err)
	}
	detail.Attempts = append(detail.Attempts, attempts...)
	return detail, nil
}

func scanAttempt(row pgx.CollectableRow, of Item) (AttemptItem, error) {
	var a AttemptItem
	var queue, dns, connect, tls, first, total int64
	var signature, headers, body []byte
	err := row.Scan(&a.Number, &a.Error, &a.StartedAt, &queue, &dns, &connect, &tls, &first, &total, &a.StatusCode,
		&signature, &headers, &body)
	if err != nil {
		return a, err
	}
	ms := func(us int64) float64 { return float64(us) / 1000 }
	a.Phases = Phases{ms(queue), ms(dns), ms(connect), ms(tls), ms(first), ms(total)}
	a.RequestHeaders = map[string]string{
		"Content-Type":         "application/json",
		hub.HeaderSignature:    "sha256=" + hex.EncodeToString(signature),
		hub.HeaderStdID:        of.EventID,
		hub.HeaderStdTimestamp: strconv.FormatInt(a.StartedAt.Unix(), 10),
		hub.HeaderStdSignature: "v1,***",
	}
	if of.IntegrationID != nil {
		a.RequestHeaders[hub.HeaderKey] = "***"
	}
	if bytes.Count(signature, []byte{0}) == len(signature) { // the peer has signatures of its own
		delete(a.RequestHeaders, hub.HeaderSignature)
	}
	a.ResponseHeaders = headerMap(headers)
	a.ResponseBody = shown(body)
	return a, nil
}

// headerMap reads raw header lines; repeated names are joined, secrets masked.
func headerMap(raw []byte) map[string]string {
	headers := make(map[string]string)
	for line := range bytes.Lines(raw) {
		name, value, found := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		if !found {
			continue
		}
		key, text := strings.ToValidUTF8(string(name), "\uFFFD"), strings.ToValidUTF8(string(bytes.TrimSpace(value)), "\uFFFD")
		if strings.EqualFold(key, "set-cookie") {
			text = "***"
		}
		if before, ok := headers[key]; ok {
			text = before + ", " + text
		}
		headers[key] = text
	}
	return headers
}

// shown makes a body fit for people: valid UTF-8, CPF numbers masked.
func shown(body []byte) *string {
	if len(body) == 0 {
		return nil
	}
	text := string(mask.CPF(body))
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	return &text
}

// EventItem is one event as the log shows it.
type EventItem struct {
	ID            string          `json:"id"`
	Product       string          `json:"product"`
	TenantID      uuid.UUID       `json:"tenant_id" format:"uuid"`
	Environment   string          `json:"environment"`
	EventType     string          `json:"event_type"`
	CorrelationID *string         `json:"correlation_id"`
	Deliveries    int             `json:"deliveries" doc:"How many receivers wanted it"`
	CreatedAt     time.Time       `json:"created_at"`
	Payload       json.RawMessage `json:"payload" doc:"The envelope as sent, CPF numbers masked; {\"erased\":true} once the person it was about was deleted"`
	Seq           uuid.UUID       `json:"-"`
}

// EventFilter says which events are meant; empty fields mean all.
type EventFilter struct {
	Since *time.Time
	Until *time.Time
}

// Events lists the newest events that match, older than before where it is set.
func (r *Reader) Events(ctx context.Context, f EventFilter, before *uuid.UUID, limit int) ([]EventItem, error) {
	var c conditions
	if f.Since != nil {
		c.add("e.seq >= ?", logid.Floor(*f.Since))
	}
	if f.Until != nil {
		c.add("e.seq < ?", logid.Floor(*f.Until))
	}
	if before != nil {
		c.add("e.seq < ?", *before)
	}
	return r.events(ctx, c, limit)
}

// Event reads the events of an id: one, unless several tenants chose the same id.
func (r *Reader) Event(ctx context.Context, id string) (EventItem, error) {
	bits, ok := hub.ParseEventID(id)
	if !ok {
		return EventItem{}, hub.Errorf(hub.ErrNotFound, "not_found", "There is no such event.")
	}
	seqs, err := eventSeqs(ctx, r.pool, int64(bits))
	if err != nil {
		return EventItem{}, err
	}
	var c conditions
	c.add("e.seq = any(?)", seqs)
	events, err := r.events(ctx, c, 1)
	if err != nil {
		return EventItem{}, err
	}
	if len(events) == 0 {
		return EventItem{}, hub.Errorf(hub.ErrNotFound, "not_found", "There is no such event.")
	}
	return events[0], nil
}

func (r *Reader) events(ctx context.Context, c conditions, limit int) ([]EventItem, error) {
	rows, err := r.pool.Query(ctx, fmt.Sprintf(`
		select e.seq, e.id, e.product, e.tenant_id, e.environment, e.event_type, e.correlation_id, e.deliveries, e.created_at, e.body
		from hub.events e where %s order by e.seq desc limit %d`, c.where(), limit), c.args...)
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (EventItem, error) {
		var e EventItem
		var id int64
		var body []byte
		err := row.Scan(&e.Seq, &id, &e.Product, &e.TenantID, &e.Environment, &e.EventType, &e.CorrelationID, &e.Deliveries, &e.CreatedAt, &body)
		e.ID, e.Payload = hub.FormatEventID(uint64(id)), mask.CPF(body)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	return events, nil
}
