package maintain

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/store/dbgen"
)

// abandonedTarget is an endpoint or integration that was not in use for so long that its
// events make no deliveries any more.
type abandonedTarget struct {
	id, tenant    uuid.UUID
	isIntegration bool
	unusedSince   time.Time
}

// abandonUnused makes targets stop to collect that have not been in use for as long as a
// delivery stays parked: what they would collect from now on, they would lose.
func (m *Maintenance) abandonUnused(ctx context.Context, now time.Time) error {
	before := now.Add(-ledger.MaxParkedAge)
	var abandoned []abandonedTarget
	err := pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			with endpoints as (
				update hub.endpoints set abandoned_at = now()
				where not enabled and disabled_at < $1 and abandoned_at is null and deleted_at is null
				returning id, tenant_id, disabled_at),
			integrations as (
				update hub.integrations set abandoned_at = now()
				where status = 'inactive' and inactive_at < $1 and abandoned_at is null
				returning id, tenant_id, inactive_at)
			select id, tenant_id, false, disabled_at from endpoints
			union all
			select id, tenant_id, true, inactive_at from integrations`, before)
		if err != nil {
			return fmt.Errorf("abandoning what is not in use: %w", err)
		}
		abandoned, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t abandonedTarget, err error) {
			return t, row.Scan(&t.id, &t.tenant, &t.isIntegration, &t.unusedSince)
		})
		if err != nil {
			return fmt.Errorf("abandoning what is not in use: %w", err)
		}
		for _, target := range abandoned {
			if err := announceAbandoned(ctx, tx, target); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, target := range abandoned {
		m.log.Warn("an endpoint or integration was not in use for 15 days; its events make no deliveries until it is", "target", target.id,
			"tenant_id", target.tenant, "integration", target.isIntegration, "since", target.unusedSince)
	}
	if len(abandoned) > 0 && m.onAbandoned != nil {
		m.onAbandoned(len(abandoned))
	}
	return nil
}

// announceAbandoned announces that a target stopped collecting, in the transaction in which
// it does: in the audit log.
func announceAbandoned(ctx context.Context, tx pgx.Tx, target abandonedTarget) error {
	resource, id := "endpoints", target.id.String()
	if target.isIntegration {
		resource = "integrations"
	}
	err := dbgen.New(tx).RecordAudit(ctx, dbgen.RecordAuditParams{
		ID: uuid.Must(uuid.NewV7()), ActorType: audit.ActorSystem, Action: resource + ".abandon", Resource: resource, ResourceID: &id,
		TenantID: &target.tenant, Status: http.StatusOK,
	})
	if err != nil {
		return fmt.Errorf("recording what is not in use in the audit log: %w", err)
	}
	return nil
}
