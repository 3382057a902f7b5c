package write

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/store/bulk"
)

// minuteCounts is what a batch of attempts adds to one minute of one target.
type minuteCounts struct {
	product                                     string
	delivered, failed, parked, attempts, errors int32
	latency                                     []byte // classes as a PostgreSQL array's text, open at the end
}

type minuteKey struct {
	tenant, target uuid.UUID
	product        string
}

func (r *rows) addDeltaInserts(statements *bulk.Batch, batch []delivery.AttemptResult, minute time.Time) {
	counts := make(map[minuteKey]*minuteCounts)
	for i := range batch {
		a := &batch[i]
		key := minuteKey{a.Event.TenantID, a.TargetID, a.Event.Product}
		t := counts[key]
		if t == nil {
			t = &minuteCounts{product: a.Event.Product, latency: []byte{'{'}}
			counts[key] = t
		}
		t.add(a)
	}
	r.deltas.Reset(deltaTypes...)
	c := r.deltas
	for key, t := range counts {
		c[colDeltaBucket].Time(minute)
		c[colDeltaTenantID].UUID(key.tenant)
		c[colDeltaTargetID].UUID(key.target)
		c[colDeltaProduct].Text(t.product)
		c[colDeltaDelivered].Int4(t.delivered)
		c[colDeltaFailed].Int4(t.failed)
		c[colDeltaParked].Int4(t.parked)
		c[colDeltaAttempts].Int4(t.attempts)
		c[colDeltaErrors].Int4(t.errors)
		c[colDeltaLatency].Text(string(append(t.latency, '}')))
	}
	// unnest flattens arrays of arrays, so each row's array travels as text.
	statements.Add(`
		insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, delivered, failed, parked, attempts, errors, latency)
		select bucket, tenant_id, target_id, product, delivered, failed, parked, attempts, errors, latency::integer[]
		from unnest($1::timestamptz[], $2::uuid[], $3::uuid[], $4::text[], $5::integer[], $6::integer[], $7::integer[], $8::integer[], $9::integer[], $10::text[])
			u(bucket, tenant_id, target_id, product, delivered, failed, parked, attempts, errors, latency)`, c)
}

func (t *minuteCounts) add(a *delivery.AttemptResult) {
	switch a.Decision.Status {
	case delivery.Delivered:
		t.delivered++
		if len(t.latency) > 1 {
			t.latency = append(t.latency, ',')
		}
		t.latency = strconv.AppendInt(t.latency, int64(ledger.LatencyClass(a.Phases.Total)), 10)
	case delivery.Parked:
		t.parked++
	case delivery.Failed:
		t.failed++
	}
	if a.Sent {
		t.attempts++
		if a.Decision.Status != delivery.Delivered {
			t.errors++
		}
	}
}
