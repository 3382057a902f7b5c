package query

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery/client"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/logid"
)

// Detail is one delivery with its attempts.
type Detail struct {
	Item
	PayloadText *string       `json:"payload_text" doc:"payload as text, with the spaces and numbers that were sent and signed; null where payload is"`
	Attempts    []AttemptItem `json:"attempts" nullable:"false" doc:"Every attempt, oldest first"`
	Waiting     *Waiting      `json:"waiting" doc:"Why it waits, and what releases it; null unless it is an outbound delivery that is pending or parked"`
}

// AttemptItem is one attempt as the log shows it. Times are in milliseconds; a
// phase that a kept-alive connection spared is 0.
type AttemptItem struct {
	Number          int               `json:"number" doc:"Which attempt of the delivery, from 1"`
	StartedAt       time.Time         `json:"started_at" doc:"When the request was made"`
	StatusCode      *int              `json:"status_code" doc:"null where no response came"`
	Error           *string           `json:"error" doc:"Why there is no complete response"`
	Phases          Phases            `json:"phases" doc:"Where the time went"`
	RequestHeaders  map[string]string `json:"request_headers" doc:"As sent, secrets masked"`
	ResponseHeaders map[string]string `json:"response_headers" doc:"Headers of the response, the longest cut"`
	ResponseBody    *string           `json:"response_body" doc:"Its beginning, at most 4 KiB; {\"erased\":true} once it was erased with the payload"`
}

// Phases is where the time of an attempt went, in milliseconds.
type Phases struct {
	QueueMS     float64 `json:"queue_ms" doc:"Due until started"`
	DNSMS       float64 `json:"dns_ms" doc:"Milliseconds until the address was found"`
	ConnectMS   float64 `json:"connect_ms" doc:"Milliseconds until the connection stood"`
	TLSMS       float64 `json:"tls_ms" doc:"Milliseconds of the TLS handshake"`
	FirstByteMS float64 `json:"first_byte_ms" doc:"Request written until the first byte of the response"`
	TotalMS     float64 `json:"total_ms" doc:"Milliseconds of the whole attempt"`
}

// Get reads one of the owner's deliveries with its attempts; ErrNotFound where there is none.
// Tenants do not see the egress proxy.
func (r *Reader) Get(ctx context.Context, id uuid.UUID, owner Owner) (Detail, error) {
	items, err := r.items(ctx, []uuid.UUID{id})
	if err == nil && len(items) == 0 {
		if err = r.Materialize(ctx); err == nil {
			items, err = r.items(ctx, []uuid.UUID{id})
		}
	}
	if err != nil {
		return Detail{}, err
	}
	if len(items) == 0 || !owner.Covers(items[0].TenantID, items[0].Environment) {
		return Detail{}, ErrNotFound
	}
	detail := Detail{Item: items[0], Attempts: []AttemptItem{}}
	if detail.Payload != nil {
		detail.PayloadText = new(string(detail.Payload))
	}
	rows, err := r.pool.Query(ctx, `
		select number, error, `+ledger.AttemptColumns+` from hub.attempts_`+logid.Partition(id)+` where delivery_id = $1
		union all
		select 1, null, `+ledger.AttemptColumns+` from hub.deliveries_`+logid.Partition(id)+` where id = $1 and started_at is not null
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
	if owner.TenantID != nil {
		detail.hideProxy()
	}
	if detail.Waiting, err = r.waiting(ctx, &detail); err != nil {
		return Detail{}, err
	}
	return detail, r.hideUnsentSignature(ctx, &detail)
}

// hideProxy replaces errors of the hub's egress proxy, whose address is the operators' affair,
// by those of receivers that cannot be reached.
func (d *Detail) hideProxy() {
	for i := range d.Attempts {
		if text := d.Attempts[i].Error; text != nil {
			d.Attempts[i].Error = new(client.HideProxy(*text))
		}
	}
}

// hideUnsentSignature removes webhook-signature from the attempts at an endpoint with a
// plain secret, which makes none. Earlier secrets of the endpoint are not considered.
func (r *Reader) hideUnsentSignature(ctx context.Context, detail *Detail) error {
	if detail.EndpointID == nil {
		return nil
	}
	isPlain := false
	err := r.pool.QueryRow(ctx, `
		select not standard_signature and (previous_secret is null or not previous_standard_signature)
		from hub.endpoints where id = $1`, *detail.EndpointID).Scan(&isPlain)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("reading the endpoint of a delivery: %w", err)
	}
	if isPlain {
		for _, attempt := range detail.Attempts {
			delete(attempt.RequestHeaders, hub.HeaderStdSignature)
		}
	}
	return nil
}

func scanAttempt(row pgx.CollectableRow, item Item) (AttemptItem, error) {
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
		hub.HeaderStdID:        item.EventID,
		hub.HeaderStdTimestamp: strconv.FormatInt(a.StartedAt.Unix(), 10),
		hub.HeaderStdSignature: "v1,***",
	}
	if item.IntegrationID != nil {
		a.RequestHeaders[hub.HeaderKey] = "***"
	}
	if bytes.Count(signature, []byte{0}) == len(signature) { // the peer has signatures of its own
		delete(a.RequestHeaders, hub.HeaderSignature)
	}
	a.ResponseHeaders = headerMap(headers)
	a.ResponseBody = toDisplay(body)
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
		headerName, text := strings.ToValidUTF8(string(name), "\uFFFD"), strings.ToValidUTF8(string(bytes.TrimSpace(value)), "\uFFFD")
		if strings.EqualFold(headerName, "set-cookie") {
			text = "***"
		}
		if earlier, ok := headers[headerName]; ok {
			text = earlier + ", " + text
		}
		headers[headerName] = text
	}
	return headers
}
