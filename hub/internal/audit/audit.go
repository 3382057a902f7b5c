// Package audit keeps the append-only audit log: actor, action, resource and outcome,
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
	"integrationhub/hub/module/pointer"
)

// Kinds of actors.
const (
	ActorOperator   = "operator"
	ActorToken      = "token"
	ActorKey        = "key"
	ActorTenantUser = "tenant_user"
	ActorSystem     = "system"
	ActorAnonymous  = "anonymous"
)

// Actor is who did something.
type Actor struct {
	Type  string // one of the kinds above
	ID    string // may be empty
	Label string // for people
}

// SetActor sets who did it.
func (e *Entry) SetActor(actor Actor) {
	e.ActorType, e.ActorID, e.ActorLabel = actor.Type, actor.ID, actor.Label
}

// Entry is one action, successful or refused.
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
	// Environment is live or test; "" = neither.
	Environment hub.Environment
	// SubjectID is the product's id of the person whose data was concerned, such as a
	// patient. May be empty.
	SubjectID string
	// Count is how often it happened within a minute, where that is counted: see
	// [Recorder.RecordCounted]. Otherwise it is 1. Set here.
	Count int
	// Changed names the settings that a change was about.
	Changed []string
}

// Recorder writes and reads the audit log. It is safe for concurrent use.
type Recorder struct {
	db      *pgxpool.Pool
	now     func() time.Time
	counted countedWriter
}

// NewRecorder returns a recorder on a pool.
func NewRecorder(db *pgxpool.Pool) *Recorder { return &Recorder{db: db, now: time.Now} }

// Record writes one entry. Its ID and At are set here.
func (r *Recorder) Record(ctx context.Context, entry Entry) error {
	err := dbgen.New(r.db).RecordAudit(ctx, dbgen.RecordAuditParams{
		ID: uuid.Must(uuid.NewV7()), ActorType: entry.ActorType, ActorID: pointer.NilIfZero(entry.ActorID), ActorLabel: pointer.NilIfZero(entry.ActorLabel),
		Action: entry.Action, Resource: entry.Resource, ResourceID: pointer.NilIfZero(entry.ResourceID), TenantID: entry.TenantID,
		Ip: pointer.NilIfZero(entry.IP), RequestID: pointer.NilIfZero(entry.RequestID), Status: int32(entry.Status),
		Environment: string(entry.Environment), SubjectID: pointer.NilIfZero(entry.SubjectID), Changed: entry.Changed,
	})
	return store.Wrap("recording in the audit log", err)
}

// Queue adds entries to a batch, which stores them together with other rows. The batch
// refers to columns: it must have run before they are filled again.
func Queue(batch *bulk.Batch, columns *bulk.Columns, entries []Entry) {
	if len(entries) == 0 {
		return
	}
	for i := range entries {
		entries[i].ID, entries[i].Count = uuid.Must(uuid.NewV7()), 1
	}
	queue(batch, columns, entries, insertSQL)
}

const insertSQL = `
	insert into hub.audit (id, tenant_id, status, count, actor_type, actor_id, actor_label, action, resource, resource_id, ip, request_id, environment, subject_id)
	select * from unnest($1::uuid[], $2::uuid[], $3::int4[], $4::int4[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
		$12::text[], $13::text[], $14::text[])`

func queue(batch *bulk.Batch, columns *bulk.Columns, entries []Entry, statement string) {
	columns.Reset(bulk.UUIDs, bulk.UUIDs, bulk.Int4s, bulk.Int4s, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts,
		bulk.Texts, bulk.Texts, bulk.Texts)
	filled := *columns
	ids, tenants, statuses, counts, texts := &filled[0], &filled[1], &filled[2], &filled[3], filled[4:]
	for _, entry := range entries {
		ids.UUID(entry.ID)
		if entry.TenantID == nil {
			tenants.Null()
		} else {
			tenants.UUID(*entry.TenantID)
		}
		statuses.Int4(int32(entry.Status))
		counts.Int4(int32(entry.Count))
		for i, text := range [...]string{entry.ActorType, entry.ActorID, entry.ActorLabel, entry.Action, entry.Resource, entry.ResourceID, entry.IP, entry.RequestID, string(entry.Environment), entry.SubjectID} {
			texts[i].OptionalText(text)
		}
	}
	batch.Add(statement, filled)
}

// Filter narrows a list of entries; zero fields match everything.
type Filter struct {
	Actor    string // an id, or the e-mail address of an operator
	Action   string
	Resource string
	TenantID *uuid.UUID
	// ResourceID is the id of what was acted on.
	ResourceID string
	// SubjectID is the person whose data was concerned; Environment is live or test.
	SubjectID, Environment string
	// WithoutRoutine leaves out what peers do all the time, unless it was refused or
	// Action asks for it: status checks and received webhooks.
	WithoutRoutine bool

	Since time.Time // inclusive
	Until time.Time // exclusive
}

// notRoutine is true of entries besides the routine of peers. An index has these entries:
// there are far fewer of them than of all.
const notRoutine = `(action not in ('integrations.status', 'integrations.webhook') or status >= 400)`

// List returns up to limit entries, newest first, older than the entry before.
func (r *Recorder) List(ctx context.Context, filter Filter, before *uuid.UUID, limit int) ([]Entry, error) {
	query, args := filter.statement(before, limit)
	rows, err := r.db.Query(ctx, query, args...)
	if err != nil {
		return nil, store.Wrap("reading the audit log", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Entry])
	if err != nil {
		return nil, store.Wrap("reading the audit log", err)
	}
	return list, nil
}

// statement returns the statement of [Recorder.List].
func (f Filter) statement(before *uuid.UUID, limit int) (query string, args []any) {
	var where strings.Builder
	and := func(condition string, value any) {
		args = append(args, value)
		fmt.Fprintf(&where, " and "+condition, len(args))
	}
	switch {
	case strings.Contains(f.Actor, "@"): // ids have none; the log shows operators by their addresses
		and("actor_id in (select o.id::text from hub.operators o where lower(o.email) = lower($%d))", f.Actor)
	case f.Actor != "":
		and("actor_id = $%d", f.Actor)
	}
	if f.Action != "" {
		and("action = $%d", f.Action)
	}
	if f.Resource != "" {
		and("resource = $%d", f.Resource)
	}
	if f.ResourceID != "" {
		and("resource_id = $%d", f.ResourceID)
	}
	if f.WithoutRoutine && f.Action == "" {
		where.WriteString(" and " + notRoutine)
	}
	if f.TenantID != nil {
		and("tenant_id = $%d", *f.TenantID)
	}
	if f.SubjectID != "" {
		and("subject_id = $%d", f.SubjectID)
	}
	if f.Environment != "" {
		and("environment = $%d", f.Environment)
	}
	if !f.Since.IsZero() {
		and("at >= $%d", f.Since)
	}
	if !f.Until.IsZero() {
		and("at < $%d", f.Until)
	}
	if before != nil {
		and("id < $%d", *before)
	}
	args = append(args, limit)
	query = `select id, at, actor_type, coalesce(actor_id, ''), coalesce(actor_label, ''), action, resource,
		coalesce(resource_id, ''), tenant_id, coalesce(ip, ''), coalesce(request_id, ''), status,
		coalesce(environment, ''), coalesce(subject_id, ''), count, coalesce(changed, '{}')
		from hub.audit where true` + where.String() + fmt.Sprintf(" order by id desc limit $%d", len(args))
	return query, args
}
