package write

import (
	"time"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/store/bulk"
)

// rows turns attempts into the columns of their statements. Its buffers are reused
// from batch to batch.
type rows struct {
	days          map[string]*dayRows
	deltas        bulk.Columns
	goneEndpoints bulk.Columns
	parks         bulk.Columns
	parkSignals   bulk.Columns
	leases        bulk.Columns
	orders        bulk.Columns
}

// dayRows are the rows of one day's tables: addressed by name, because going
// through the parent tables costs locks on every partition.
type dayRows struct {
	used                                              bool
	inserts, deliveredUpdates                         bulk.Columns // delivered by the first attempt: without a row yet, with one
	insertsWithState                                  bulk.Columns // otherwise decided by the first attempt, without a row yet
	materialized, states, attempts                    bulk.Columns // everything else
	insertCount, deliveredCount, insertWithStateCount int          // rows of each
	materializedCount, stateCount, attemptCount       int
}

// addStatements adds the statements of a batch of attempts: the deliveries' new states,
// the attempts, statistics, disabled endpoints, and leases that cover no delivery any
// more.
func (r *rows) addStatements(statements *bulk.Batch, batch []delivery.AttemptResult, now time.Time) {
	if r.days == nil {
		r.days = make(map[string]*dayRows)
	}
	for day, rows := range r.days {
		if !rows.used {
			delete(r.days, day)
		}
		rows.used = false
	}
	for i := range batch {
		a := &batch[i]
		day := r.day(logid.Partition(a.ID))
		switch deliveredAtOnce := a.Sent && a.PriorAttempts == 0 && a.Decision.Status == delivery.Delivered && a.Error == ""; {
		case deliveredAtOnce && hasNoRow(a) && a.Priority == hub.PriorityNormal: // addInsert has no column for another priority
			day.addInsert(a)
		case deliveredAtOnce && !hasNoRow(a):
			day.addFirstDelivered(a)
		default:
			if !a.IsKept() {
				day.addAttempted(a)
			}
			if a.Sent {
				day.addAttemptRow(a)
			}
		}
	}
	r.lockOrders(statements, batch)
	// Leases before deliveries, as hub.unfold_leases has it: the other way round two
	// transactions would wait for each other.
	r.settleLeases(statements, batch)
	minute := now.Truncate(time.Minute)
	for day, rows := range r.days {
		rows.addStatements(statements, day, minute)
	}
	r.addDeltaInserts(statements, batch, minute)
	r.addGoneEndpoints(statements, batch)
	r.addParks(statements, batch)
}
