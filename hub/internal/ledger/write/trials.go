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

// queueTrialsAndDrains schedules a trial delivery for active integrations whose attempt
// parked. Integrations that became active meanwhile are drained: the trigger
// hub.drain_integration ran before these deliveries parked.
func (r *rows) queueTrialsAndDrains(statements *bulk.Batch, batch []delivery.AttemptResult) {
	r.trialIntegrations.Reset(bulk.UUIDs)
	r.drainIntegrations.Reset(bulk.UUIDs)
	hasTrials, hasDrains := false, false
	for i := range batch {
		a := &batch[i]
		switch {
		case !a.IsIntegration || a.Decision.Status != delivery.Parked:
		case a.Sent:
			r.trialIntegrations[0].UUID(a.Target)
			hasTrials = true
		default:
			r.drainIntegrations[0].UUID(a.Target)
			hasDrains = true
		}
	}
	if hasTrials {
		statements.Add(`
			update hub.integrations set trial_at = now() + `+ledger.TrialWait+`
			where id = any($1::uuid[]) and status = 'active' and trial_at is null`, r.trialIntegrations)
	}
	if hasDrains { // it became active after this process read its status
		statements.Add(`
			update hub.integrations set draining_since = now() + interval '1 second', trial_at = null, trial_id = null
			where id = any($1::uuid[]) and status = 'active'`, r.drainIntegrations)
	}
}
