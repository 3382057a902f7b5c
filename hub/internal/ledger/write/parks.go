package write

import (
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/store/bulk"
)

// queueGoneEndpoints disables endpoints that responded 410.
func (r *rows) queueGoneEndpoints(statements *bulk.Batch, batch []delivery.AttemptResult) {
	r.goneEndpoints.Reset(bulk.UUIDs)
	hasRows := false
	for i := range batch {
		if batch[i].Decision.DisableEndpoint {
			r.goneEndpoints[0].UUID(batch[i].Target)
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

// queueParks announces targets with parked deliveries to the drainer. It looks at once at
// those whose delivery was not sent: they may be in use again by now.
//
// A row that the drainer will look at after this transaction, whatever happens, is not
// locked: many processes park for one target at once. Such a row is not deleted before
// the drainer has found nothing for longer than a transaction of the writer takes.
func (r *rows) queueParks(statements *bulk.Batch, batch []delivery.AttemptResult) {
	r.parks.Reset(parkTypes...)
	hasRows := false
	for i := range batch {
		a := &batch[i]
		if a.Decision.Status != delivery.Parked || a.Decision.Reason == delivery.ReasonReplayCancelled {
			continue
		}
		hasRows = true
		r.parks[colParkTargetID].UUID(a.Target)
		r.parks[colParkIntegration].Bool(a.IsIntegration)
		r.parks[colParkSent].Bool(a.Sent)
	}
	if !hasRows {
		return
	}
	statements.Add(`
		insert into hub.drains (target_id, integration, state, due_at)
		select t.id, t.integration, 'waiting', case when t.sent then now() + `+ledger.FirstTrialWait+` else now() end
		from (select id, integration, bool_and(sent) as sent from unnest($1::uuid[], $2::boolean[], $3::boolean[]) u(id, integration, sent) group by 1, 2) t
		where not exists (select from hub.drains d where d.target_id = t.id and d.state <> 'settling')
		order by t.id
		on conflict (target_id) do update set state = 'waiting', due_at = excluded.due_at, trials = 0 where drains.state = 'settling'`, r.parks)
}
