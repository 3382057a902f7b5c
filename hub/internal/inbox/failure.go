package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/bulk"
)

const (
	reasonHandleFailed = "handle_failed" // in the log: the product could not apply the event
	failureTimeout     = 5 * time.Second
)

const insertFailed = `
	insert into hub.received (integration_id, event_id, tenant_id, body_sha256, event_type, ignored, seq, failed)
	values ($1, $2, $3, $4, $5, false, $6, true) on conflict do nothing`

const lockFailed = `select seq, body_sha256 = $3 from hub.received where integration_id = $1 and event_id = $2 and failed for update`

const moveFailed = `update hub.received set seq = $3, body_sha256 = $4 where integration_id = $1 and event_id = $2`

const countFailure = `
	update hub.deliveries set attempts = attempts + 1, status_code = $2, response_body = $3, finished_at = now() where id = $1`

const settleRedeliveredSQL = `
	update hub.deliveries d set status = 1, reason = null, attempts = d.attempts + 1, status_code = 200, response_body = u.body, finished_at = now()
	from unnest($1::uuid[], $2::bytea[]) u(id, body) where d.id = u.id`

// logFailure logs an event that could not be stored, with the peer's answer, in
// a transaction of its own. Its retries are counted in the same row.
func (w *writer) logFailure(r *pendingEvent) {
	if errors.Is(r.err, hub.ErrUnavailable) { // nothing can be stored now, and the event is not to blame
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), failureTimeout)
	defer cancel()
	if err := w.insertFailure(ctx, r); err != nil {
		w.log.Warn("a received event that failed is missing in the log", "error", err, "event_id", r.Event.ID, "integration_id", r.IntegrationID)
	}
}

func (w *writer) insertFailure(ctx context.Context, r *pendingEvent) error {
	problem, _ := httpx.ProblemOf(r.err, r.Audit.RequestID)
	answer, err := json.Marshal(&problem)
	if err != nil {
		return fmt.Errorf("storing the response: %w", err)
	}
	return store.InTx(ctx, w.pool, func(tx pgx.Tx) error {
		inserted, err := tx.Exec(ctx, insertFailed, r.IntegrationID, r.id, r.Event.TenantID, r.Hash[:], r.Event.Type, r.seq)
		if err != nil {
			return fmt.Errorf("storing a failed event: %w", err)
		}
		if inserted.RowsAffected() == 1 {
			return w.logNewFailure(ctx, tx, r, problem.Status, answer)
		}
		var seq uuid.UUID
		var isUnchanged bool
		err = tx.QueryRow(ctx, lockFailed, r.IntegrationID, r.id, r.Hash[:]).Scan(&seq, &isUnchanged)
		if errors.Is(err, pgx.ErrNoRows) { // a retry has succeeded since
			return nil
		}
		var counted pgconn.CommandTag
		if err == nil && isUnchanged {
			counted, err = tx.Exec(ctx, countFailure, logid.Delivery(seq, 1), problem.Status, answer)
		}
		if err == nil && counted.RowsAffected() == 0 { // it has left the log, or its sender has changed it
			r.seq = logid.NewSeq(w.now())
			if _, err = tx.Exec(ctx, moveFailed, r.IntegrationID, r.id, r.seq, r.Hash[:]); err == nil {
				return w.logNewFailure(ctx, tx, r, problem.Status, answer)
			}
		}
		if err != nil {
			return fmt.Errorf("counting a failed event: %w", err)
		}
		return nil
	})
}

// logNewFailure logs an event that failed and that the log does not have.
func (w *writer) logNewFailure(ctx context.Context, tx pgx.Tx, r *pendingEvent, status int, answer []byte) error {
	r.isRedelivery = false
	statements := &bulk.Batch{}
	w.queueLog(statements, []logEntry{{pendingEvent: r, status: statusFailed, code: status, reason: reasonHandleFailed, answer: answer}})
	if err := statements.RunOn(ctx, tx.Conn()); err != nil {
		return fmt.Errorf("logging a failed event: %w", err)
	}
	return nil
}
