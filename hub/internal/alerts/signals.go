package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
)

// signal is a row of hub.signals: something that operators or a tenant want to know.
type signal struct {
	id          int64
	eventType   string
	tenantID    uuid.UUID
	environment hub.Environment
	details     []byte
	createdAt   time.Time
	tenantName  *string // nil: the tenant was deleted
	product     *string
}

const (
	signalsPerRound  = 200 // in one transaction
	signalsPerTenant = 20  // of these, and about as many in a tick: one tenant's flood delays no other's signals, and is sent slowly
	roundsPerTick    = 10
	signalRetryWait  = time.Minute
)

// signalChoice says which signals are taken; the zero value: any.
type signalChoice struct {
	ids     []int64     // only these; nil: any
	without []uuid.UUID // none of these tenants
}

// takeSignals locks due signals: of each tenant the oldest, and those of many tenants before
// many of one.
func takeSignals(ctx context.Context, tx pgx.Tx, choice signalChoice) ([]signal, error) {
	rows, err := tx.Query(ctx, `
		with recursive tenants as (
			(select tenant_id from hub.signals order by tenant_id limit 1)
			union all
			select (select s.tenant_id from hub.signals s where s.tenant_id > t.tenant_id order by s.tenant_id limit 1)
			from tenants t where t.tenant_id is not null),
		picked as (
			select s.id from tenants t cross join lateral (
				select id, row_number() over (order by id) as place from hub.signals s
				where s.tenant_id = t.tenant_id and s.due_at <= now() and ($1::bigint[] is null or s.id = any($1)) order by id limit $2) s
			where t.tenant_id <> all(coalesce($4::uuid[], '{}'))
			order by s.place, s.id limit $3)
		select s.id, s.event_type, s.tenant_id, s.environment, s.details, s.created_at, t.name, t.product
		from hub.signals s left join hub.tenants t on t.id = s.tenant_id
		where s.id in (select id from picked) order by s.id for update of s skip locked`, choice.ids, signalsPerTenant, signalsPerRound, choice.without)
	if err != nil {
		return nil, fmt.Errorf("reading signals: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s signal, err error) {
		return s, row.Scan(&s.id, &s.eventType, &s.tenantID, &s.environment, &s.details, &s.createdAt, &s.tenantName, &s.product)
	})
	if err != nil {
		return nil, fmt.Errorf("reading signals: %w", err)
	}
	return list, nil
}

// data returns the event's data.
func (s signal) data() (events.Data, error) {
	members := make(map[string]any)
	if err := json.Unmarshal(s.details, &members); err != nil {
		return nil, fmt.Errorf("reading the details of a signal: %w", err)
	}
	for name, value := range members {
		text, isText := value.(string)
		switch {
		case !isText:
		case name == "url":
			members[name] = shownURL(text)
		case strings.HasSuffix(name, "_at"), strings.HasSuffix(name, "_since"):
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				members[name] = at.UTC().Truncate(time.Second)
			}
		}
	}
	members["tenant_id"], members["tenant_name"], members["product"], members["environment"] = s.tenantID, s.tenantName, s.product, s.environment
	text, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("writing the details of a signal: %w", err)
	}
	return decode(s.eventType, text)
}

// decode reads the data of an operational event.
func decode(eventType string, text []byte) (events.Data, error) {
	switch eventType {
	case events.TypeEndpointFailing:
		return decodeAs[events.EndpointFailing](text)
	case events.TypeEndpointRecovered:
		return decodeAs[events.EndpointRecovered](text)
	case events.TypeEndpointDisabled:
		return decodeAs[events.EndpointDisabled](text)
	case events.TypeEndpointAbandoned:
		return decodeAs[events.EndpointAbandoned](text)
	case events.TypeDeliveryParked:
		return decodeAs[events.DeliveryParked](text)
	case events.TypeIntegrationError:
		return decodeAs[events.IntegrationError](text)
	case events.TypeIntegrationRecovered:
		return decodeAs[events.IntegrationRecovered](text)
	case events.TypeKeyExpiring:
		return decodeAs[events.KeyExpiring](text)
	case events.TypeInboxWaiting:
		return decodeAs[events.InboxWaiting](text)
	}
	return nil, fmt.Errorf("reading a signal: there is no event type %s", eventType)
}

func decodeAs[D events.Data](text []byte) (events.Data, error) {
	var data D
	if err := json.Unmarshal(text, &data); err != nil {
		return nil, fmt.Errorf("reading the data of %s: %w", data.EventType(), err)
	}
	return data, nil
}

// shownURL returns a URL without its user and query, which may be credentials.
func shownURL(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return ""
	}
	parsed.User, parsed.RawQuery, parsed.Fragment = nil, "", ""
	return parsed.String()
}
