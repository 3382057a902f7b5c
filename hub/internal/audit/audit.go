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

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/bulk"
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
	// Environment is the data it was about; "" = of neither.
	Environment hub.Environment
	// SubjectID is the person it was about, by the product's id: a patient's. May be
	// empty.
	SubjectID string
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
		Environment: string(entry.Environment), SubjectID: optional(entry.SubjectID),
	})
	return store.Failed("recording in the audit log", err)
}

// Queue adds entries to a batch that stores them with something else. The batch uses
// the columns: it must have run before they are filled again.
func Queue(batch *bulk.Batch, columns *bulk.Columns, entries []Entry) {
	if len(entries) == 0 {
		return
	}
	columns.Reset(bulk.UUIDs, bulk.UUIDs, bulk.Int4s, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts,
		bulk.Texts, bulk.Texts)
	c := *columns
	for _, e := range entries {
		c[0].UUID(uuid.Must(uuid.NewV7()))
		if e.TenantID == nil {
			c[1].Null()
		} else {
			c[1].UUID(*e.TenantID)
		}
		c[2].Int4(int32(e.Status))
		for k, text := range [...]string{e.ActorType, e.ActorID, e.ActorLabel, e.Action, e.Resource, e.ResourceID, e.IP, e.RequestID, string(e.Environment), e.SubjectID} {
			c[3+k].OptionalText(text)
		}
	}
	batch.Add(`
		insert into hub.audit (id, tenant_id, status, actor_type, actor_id, actor_label, action, resource, resource_id, ip, request_id, environment, subject_id)
		select * from unnest($1::uuid[], $2::uuid[], $3::int4[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
			$12::text[], $13::text[])`, c)
}

// Filter narrows a list of entries; zero fields match everything.
type Filter struct {
	ActorID  string
	Action   string
	Resource string
	TenantID *uuid.UUID
	// SubjectID is the person it was about, Environment live or test.
	SubjectID, Environment string

	Since time.Time // inclusive
	Until time.Time // exclusive
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
	if filter.SubjectID != "" {
		and("subject_id = $%d", filter.SubjectID)
	}
	if filter.Environment != "" {
		and("environment = $%d", filter.Environment)
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
		coalesce(resource_id, ''), tenant_id, coalesce(ip, ''), coalesce(request_id, ''), status,
		coalesce(environment, ''), coalesce(subject_id, '')
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
