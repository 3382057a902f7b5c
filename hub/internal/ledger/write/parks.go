package write

import (
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/store/bulk"
)

// addGoneEndpoints disables endpoints that responded 410.
func (r *rows) addGoneEndpoints(statements *bulk.Batch, batch []delivery.AttemptResult) {
	r.goneEndpoints.Reset(bulk.UUIDs)
	hasRows := false
	for i := range batch {
		if batch[i].Decision.DisableEndpoint {
			r.goneEndpoints[0].UUID(batch[i].TargetID)
			hasRows = true
		}
	}
	if hasRows {
		statements.Add(`
			update hub.endpoints set enabled = false, disabled_reason = 'gone', updated_at = now()
			where id = any($1::uuid[]) and enabled`, r.goneEndpoints)
	}
}

// Columns of a target that deliveries were parked for.
const (
	colParkTargetID = iota
	colParkIntegration
	colParkSent
)

var parkTypes = []uint32{colParkTargetID: bulk.UUIDs, colParkIntegration: bulk.Bools, colParkSent: bulk.Bools}

// isDrained reports whether drains will send a parked delivery. After a cancelled replay that is
// only one with an ordering key: others may be behind it.
func isDrained(a *delivery.AttemptResult) bool {
	return a.Decision.Status == delivery.Parked && (a.Decision.Reason != delivery.ReasonReplayCancelled || a.OrderingKey != "")
}

// addParks announces targets with parked deliveries to the drainer. It looks at once at
// those whose delivery was not sent: they may be in use again by now.
//
// A row that the drainer will look at after this transaction, whatever happens, is not
// locked: many processes park for one target at once. Such a row is not deleted before
// the drainer has found nothing for longer than a transaction of the writer takes.
func (r *rows) addParks(statements *bulk.Batch, batch []delivery.AttemptResult) {
	r.parks.Reset(parkTypes...)
	hasRows := false
	for i := range batch {
		a := &batch[i]
		if !isDrained(a) {
			continue
		}
		hasRows = true
		r.parks[colParkTargetID].UUID(a.TargetID)
		r.parks[colParkIntegration].Bool(a.IsIntegration)
		r.parks[colParkSent].Bool(a.Sent || a.Decision.Reason == delivery.ReasonReplayCancelled)
	}
	if !hasRows {
		return
	}
	r.addParkSignals(statements, batch)
	statements.Add(`
		insert into hub.drains (target_id, integration, state, due_at)
		select t.id, t.integration, 'waiting', case when t.sent then now() + `+ledger.FirstTrialWaitSQL+` else now() end
		from (select id, integration, bool_and(sent) as sent from unnest($1::uuid[], $2::boolean[], $3::boolean[]) u(id, integration, sent) group by 1, 2) t
		where not exists (select from hub.drains d where d.target_id = t.id and d.state <> 'settling')
		order by t.id
		on conflict (target_id) do update set state = 'waiting', due_at = excluded.due_at, trials = 0 where drains.state = 'settling'`, r.parks)
}

// Columns of the first delivery of a batch that was parked for a target.
const (
	colSignalTargetID = iota
	colSignalIntegration
	colSignalDeliveryID
	colSignalTenantID
	colSignalEnvironment
	colSignalEventType
	colSignalReason
)

var signalTypes = []uint32{
	colSignalTargetID: bulk.UUIDs, colSignalIntegration: bulk.Bools, colSignalDeliveryID: bulk.UUIDs, colSignalTenantID: bulk.UUIDs,
	colSignalEnvironment: bulk.Texts, colSignalEventType: bulk.Texts, colSignalReason: bulk.Texts,
}

// addParkSignals signals hub.delivery.parked for targets whose first delivery of an episode
// was parked. The hub's own events signal nothing: their failing must not make more of them.
func (r *rows) addParkSignals(statements *bulk.Batch, batch []delivery.AttemptResult) {
	r.parkSignals.Reset(signalTypes...)
	seen := make(map[uuid.UUID]bool)
	for i := range batch {
		a := &batch[i]
		if a.Decision.Status != delivery.Parked || a.Decision.Reason == delivery.ReasonReplayCancelled || a.Event.Product == hub.ProductHub || seen[a.TargetID] {
			continue
		}
		seen[a.TargetID] = true
		c := r.parkSignals
		c[colSignalTargetID].UUID(a.TargetID)
		c[colSignalIntegration].Bool(a.IsIntegration)
		c[colSignalDeliveryID].UUID(a.ID)
		c[colSignalTenantID].UUID(a.Event.TenantID)
		c[colSignalEnvironment].Text(string(a.Event.Environment))
		c[colSignalEventType].Text(a.Event.Type)
		c[colSignalReason].Text(a.Decision.Reason)
	}
	if len(seen) == 0 {
		return
	}
	statements.Add(`
		insert into hub.signals (event_type, tenant_id, environment, details)
		select 'hub.delivery.parked', t.tenant_id, t.environment, jsonb_build_object(
			case when t.integration then 'integration_id' else 'endpoint_id' end, t.id,
			'url', case when t.integration then (select i.peer_webhook_url from hub.integrations i where i.id = t.id) else (select e.url from hub.endpoints e where e.id = t.id) end,
			'delivery_id', t.delivery_id, 'event_type', t.event_type, 'reason', t.reason)
		from (select * from unnest($1::uuid[], $2::boolean[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[])
			u(id, integration, delivery_id, tenant_id, environment, event_type, reason) order by id) t
		where case when exists (select from hub.episodes e where e.kind = 'parked' and e.subject_id = t.id and e.ended_at is null) then false
			else hub.begin_episode('parked', t.id, interval '10 minutes') end`, r.parkSignals)
}
