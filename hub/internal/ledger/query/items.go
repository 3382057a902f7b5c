package query

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/mask"
)

// Item is one delivery as the log shows it: the webhook log entry of
// docs/interfaces/clinic.md ("Connect and status") and the hub's own fields.
type Item struct {
	ID            uuid.UUID       `json:"id" format:"uuid" doc:"Delivery id"`
	EventID       string          `json:"event_id" doc:"Event id; empty for a refused webhook without a valid one" example:"evt_0123456789abcdef"`
	Direction     string          `json:"direction" enum:"inbound,outbound" doc:"Whether the hub sends it (outbound) or received it (inbound)"`
	Product       string          `json:"product" doc:"Product the event came from"`
	TenantID      *uuid.UUID      `json:"tenant_id" format:"uuid" doc:"Tenant it belongs to; null: it is sent to an alert of the operators"`
	TenantName    string          `json:"tenant_name" maxLength:"200" doc:"Display name of the customer" example:"Acme"`
	Environment   string          `json:"environment" enum:"live,test" doc:"Whether it is for live or test data; the two never mix"`
	IntegrationID *uuid.UUID      `json:"integration_id" format:"uuid" nullable:"true" doc:"Integration it went to, or null"`
	EndpointID    *uuid.UUID      `json:"endpoint_id" format:"uuid" nullable:"true" doc:"Endpoint it went to, or null"`
	Receiver      string          `json:"receiver" maxLength:"4096" doc:"URL of the endpoint or of the peer's webhook, as it is now; for inbound webhooks and peers without a URL the peer's product; empty where neither is known" example:"https://example.com/hooks"`
	EventType     string          `json:"event_type" doc:"What happened, such as appointment.created"`
	CorrelationID *string         `json:"correlation_id" doc:"Ties events and deliveries of one matter together; null: none"`
	OrderingKey   *string         `json:"ordering_key" maxLength:"200" doc:"What the event is about, by the publisher: receivers with ordered get the events of one key in the order of their acceptance; null: none"`
	OutOfOrder    bool            `json:"out_of_order" doc:"Whether it was sent, or is sent, apart from the order of its key: again by hand, by a replay or by a recovery"`
	BehindInOrder bool            `json:"behind_in_order" doc:"Whether it is pending behind earlier deliveries of its ordering key, which go first"`
	Payload       json.RawMessage `json:"payload" doc:"The envelope as sent, CPF numbers masked; {\"erased\":true} once the person it was about was deleted; null once its retention ended"`
	Priority      string          `json:"priority" enum:"high,normal,bulk" doc:"When it goes among those that wait for the same receiver: deletions and pings are high and go first; then normal ones; then bulk, which imports publish and recoveries and replays send"`
	Status        string          `json:"status" enum:"pending,delivered,parked,failed" doc:"State it is in"`
	Reason        *string         `json:"reason" doc:"Why it is parked or failed"`
	StatusCode    *int            `json:"status_code" doc:"HTTP status of the last attempt; null without a response"`
	ResponseBody  *string         `json:"response_body" doc:"Beginning of the last response's body, at most 4 KiB"`
	Delivered     bool            `json:"delivered" doc:"Whether the receiver has confirmed it"`
	Retries       int             `json:"retries" doc:"Attempts after the first"`
	AttemptCount  int             `json:"attempt_count" minimum:"0" maximum:"2147483647" doc:"Attempts so far; 0 where none was made, as of a delivery that was parked when it was published. Of an inbound webhook, how often it came"`
	DurationMS    *int            `json:"duration_ms" doc:"Duration of the last attempt, milliseconds"`
	CreatedAt     time.Time       `json:"created_at" doc:"When it was made"`
	NextAttemptAt *time.Time      `json:"next_attempt_at" doc:"When the next attempt is due; null while one is under way or none will come"`
	FinishedAt    *time.Time      `json:"finished_at" doc:"When it came to its end; null: not yet"`
	ChangedAt     time.Time       `json:"-"` // when its last attempt was stored, or it was settled or accepted, by the database's clock
}

// readItemsSQL reads Items by id, with their events and their last attempts, from the
// tables of one day: on the parent tables the planning alone takes longer.
const readItemsSQL = `
	select d.id, d.event_id, d.inbound, d.product, nullif(d.tenant_id, '` + noTenant + `'), d.environment, d.target_id, d.integration, d.event_type,
		d.correlation_id, e.ordering_key, d.out_of_order, d.status = 0 and d.due_at = 'infinity', e.body, d.priority, d.status, d.reason, d.status_code,
		coalesce(a.response_body, d.response_body), d.attempts, coalesce(d.duration_ms, d.total_us / 1000),
		d.created_at, d.next_attempt_at, d.finished_at, greatest(a.stored_at, d.finished_at, d.created_at),
		coalesce(tenant.name, ''), coalesce(endpoint.url, case when not d.inbound then nullif(integration.peer_webhook_url, '') end, integration.product, '')
	from hub.deliveries_%[1]s d
	left join hub.tenants tenant on tenant.id = d.tenant_id
	left join hub.endpoints endpoint on not d.integration and endpoint.id = d.target_id
	left join hub.integrations integration on d.integration and integration.id = d.target_id
	left join lateral (
		select ordering_key, body from hub.events_%[1]s e
		where e.seq = (overlay(d.id::text placing '0000' from 33))::uuid) e on true
	left join lateral (
		select response_body, stored_at from hub.attempts_%[1]s a
		where a.delivery_id = d.id and d.started_at is null order by a.number desc, a.started_at desc limit 1) a on true
	where d.id = any($1::uuid[]) order by d.id desc`

// noTenant is the tenant_id of what is sent to alerts.
const noTenant = "00000000-0000-0000-0000-000000000000"

// items reads deliveries by id; the ids are sorted, newest first.
func (r *Reader) items(ctx context.Context, ids []uuid.UUID) ([]Item, error) {
	var items []Item
	for len(ids) > 0 {
		n := logid.CountSameDay(ids)
		rows, err := r.pool.Query(ctx, fmt.Sprintf(readItemsSQL, logid.Partition(ids[0])), ids[:n])
		var dayItems []Item
		if err == nil {
			dayItems, err = collectItems(rows)
		}
		if err != nil && !isMissingTable(err) { // the day's retention has ended, or it has not begun
			return nil, fmt.Errorf("reading deliveries: %w", err)
		}
		items, ids = append(items, dayItems...), ids[n:]
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
	var priority hub.Priority
	var attempts int
	err := row.Scan(&it.ID, &event, &inbound, &it.Product, &it.TenantID, &it.Environment, &target, &integration, &it.EventType,
		&it.CorrelationID, &it.OrderingKey, &it.OutOfOrder, &it.BehindInOrder, &body, &priority, &status, &it.Reason, &it.StatusCode, &response, &attempts, &it.DurationMS,
		&it.CreatedAt, &it.NextAttemptAt, &it.FinishedAt, &it.ChangedAt,
		&it.TenantName, &it.Receiver)
	if err != nil {
		return it, err
	}
	it.EventID, it.Status, it.Delivered = hub.FormatEventID(uint64(event)), status.String(), status == delivery.Delivered
	it.Direction, it.Priority = "outbound", priority.String()
	if inbound {
		it.Direction = "inbound"
	}
	if integration {
		it.IntegrationID = &target
	} else {
		it.EndpointID = &target
	}
	if event == 0 {
		it.EventID = ""
	}
	it.Retries, it.AttemptCount = max(0, attempts-1), attempts
	if inbound {
		it.AttemptCount = max(1, attempts)
	}
	if body != nil {
		it.Payload = mask.CPF(body)
	}
	it.ResponseBody = toDisplay(response)
	return it, nil
}

// toDisplay makes a body fit for people: valid UTF-8, CPF numbers masked.
func toDisplay(body []byte) *string {
	if len(body) == 0 {
		return nil
	}
	display := string(mask.CPF(body))
	if !utf8.ValidString(display) {
		display = strings.ToValidUTF8(display, "\uFFFD")
	}
	display = strings.ReplaceAll(display, "\x00", "\uFFFD")
	return &display
}
