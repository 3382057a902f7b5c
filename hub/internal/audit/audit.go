// Package audit keeps the append-only record of who did what and how it ended;
// never values.
package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// Kinds of actors.
const (
	ActorOperator   = "operator"
	ActorKey        = "key"
	ActorTenantUser = "tenant_user"
	ActorSystem     = "system"
	ActorAnonymous  = "anonymous"
)

// Entry is one thing that was done or tried.
type Entry struct {
	ID         uuid.UUID // UUIDv7; set by Record
	At         time.Time // set by the database
	ActorType  string    // one of the kinds above
	ActorID    string    // operator's or key's id; may be empty
	ActorLabel string    // e-mail address, or prefix and last4 of a key
	Action     string    // "keys.rotate"
	Resource   string    // "keys"
	ResourceID string    // may be empty
	TenantID   *uuid.UUID
	IP         string // of the client
	RequestID  string
	Status     int // HTTP status of the outcome
}

// Recorder writes and reads the record.
type Recorder struct{ db *pgxpool.Pool }

// NewRecorder makes a recorder.
func NewRecorder(db *pgxpool.Pool) *Recorder { return &Recorder{db: db} }

// Record writes one entry; its ID and At are chosen here.
func (r *Recorder) Record(ctx context.Context, entry Entry) error {
	err := dbgen.New(r.db).RecordAudit(ctx, dbgen.RecordAuditParams{
		ID: uuid.Must(uuid.NewV7()), ActorType: entry.ActorType, ActorID: optional(entry.ActorID), ActorLabel: optional(entry.ActorLabel),
		Action: entry.Action, Resource: entry.Resource, ResourceID: optional(entry.ResourceID), TenantID: entry.TenantID,
		Ip: optional(entry.IP), RequestID: optional(entry.RequestID), Status: int32(entry.Status),
	})
	return store.Failed("recording in the audit log", err)
}

// RecordAll writes entries in a transaction of the caller's.
func RecordAll(ctx context.Context, tx pgx.Tx, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	n := len(entries)
	ids, tenants, statuses := make([]uuid.UUID, n), make([]*uuid.UUID, n), make([]int32, n)
	var texts [8][]*string
	for i, e := range entries {
		ids[i], tenants[i], statuses[i] = uuid.Must(uuid.NewV7()), e.TenantID, int32(e.Status)
		for k, text := range [...]string{e.ActorType, e.ActorID, e.ActorLabel, e.Action, e.Resource, e.ResourceID, e.IP, e.RequestID} {
			texts[k] = append(texts[k], optional(text))
		}
	}
	_, err := tx.Exec(ctx, `
		insert into hub.audit (id, actor_type, actor_id, actor_label, action, resource, resource_id, ip, request_id, tenant_id, status)
		select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::uuid[], $11::int4[])`,
		ids, texts[0], texts[1], texts[2], texts[3], texts[4], texts[5], texts[6], texts[7], tenants, statuses)
	return store.Failed("recording in the audit log", err)
}

// Filter narrows a list of entries; zero fields match everything.
type Filter struct {
	ActorID  string
	Action   string
	Resource string
	TenantID *uuid.UUID
	Since    time.Time // inclusive
	Until    time.Time // exclusive
}

// List gives up to limit entries, newest first, that come after the entry before.
func (r *Recorder) List(ctx context.Context, filter Filter, before *uuid.UUID, limit int) ([]Entry, error) {
	var where strings.Builder
	var args []any
	and := func(condition string, value any) {
		args = append(args, value)
		fmt.Fprintf(&where, " and "+condition, len(args))
	}
	if filter.ActorID != "" {
		and("actor_id = $%d", filter.ActorID)
	}
	if filter.Action != "" {
		and("action = $%d", filter.Action)
	}
	if filter.Resource != "" {
		and("resource = $%d", filter.Resource)
	}
	if filter.TenantID != nil {
		and("tenant_id = $%d", *filter.TenantID)
	}
	if !filter.Since.IsZero() {
		and("at >= $%d", filter.Since)
	}
	if !filter.Until.IsZero() {
		and("at < $%d", filter.Until)
	}
	if before != nil {
		and("id < $%d", *before)
	}
	args = append(args, limit)
	query := `select id, at, actor_type, coalesce(actor_id, ''), coalesce(actor_label, ''), action, resource,
		coalesce(resource_id, ''), tenant_id, coalesce(ip, ''), coalesce(request_id, ''), status
		from hub.audit where true` + where.String() + fmt.Sprintf(" order by id desc limit $%d", len(args))
	rows, err := r.db.Query(ctx, query, args...)
	if err != nil {
		return nil, store.Failed("reading the audit log", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Entry])
	if err != nil {
		return nil, store.Failed("reading the audit log", err)
	}
	return list, nil
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
