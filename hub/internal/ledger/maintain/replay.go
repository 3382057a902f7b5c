package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// ReplayKind is what a job sends.
type ReplayKind string

// The kinds of jobs.
const (
	KindReplay  ReplayKind = "replay"  // deliveries that match a filter, again
	KindRecover ReplayKind = "recover" // events that an endpoint has no delivery of
)

// ReplayFilter selects what a job sends.
type ReplayFilter struct {
	query.Filter
	EventTypes []string `json:"event_types,omitempty" doc:"Of a recovery: *, a prefix such as appointment.*, or exact types"`
}

// Replay is a job that makes every matching delivery pending again, or makes deliveries
// of the events that an endpoint missed.
type Replay struct {
	ID         uuid.UUID    `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	Kind       ReplayKind   `json:"kind" enum:"replay,recover" doc:"A replay by a filter, or the recovery of an endpoint"`
	Filter     ReplayFilter `json:"filter" doc:"Which deliveries it sends again"`
	Status     string       `json:"status" enum:"running,done,cancelled,failed" doc:"State of the job"`
	Total      int64        `json:"total" doc:"How many matched when the job began; done never exceeds it"`
	Done       int64        `json:"done" doc:"Settled so far: delivered, parked or failed"`
	Delivered  int64        `json:"delivered" doc:"How many receivers confirmed since"`
	Parked     int64        `json:"parked" doc:"Parked again. Those that a cancelled replay took back do not count"`
	Failed     int64        `json:"failed" doc:"Failed, or cannot be sent again: discarded, payload erased or gone, or endpoint disabled or deleted"`
	Error      *string      `json:"error" doc:"Why the last try failed: it is tried again while the replay is running"`
	TenantID   *uuid.UUID   `json:"tenant_id" format:"uuid" nullable:"true" doc:"Tenant whose deliveries it sends: that of the key that started it, or that the filter names, itself or by its endpoint or integration; null: any tenant's"`
	CreatedBy  string       `json:"created_by" doc:"Operator who started it, or the beginning and the end of the key"`
	CreatedAt  time.Time    `json:"created_at" doc:"When it was made"`
	FinishedAt *time.Time   `json:"finished_at" doc:"When it came to its end; null: not yet"`
}

const replayColumns = `id, kind, filter, status, total, done, delivered, parked, failed, error, ` + replayTenantSQL + `, created_by, created_at, finished_at`

// Whose deliveries a replay sends: those of the tenant and environment whose key started it, or
// to which an operator's filter limits it. Only the columns say whose replay it is: a tenant's
// keys do not see those of operators. An endpoint of alerts has no tenant.
const (
	replayTenantSQL = `coalesce(replays.tenant_id, (replays.filter ->> 'tenant_id')::uuid,
		(select e.tenant_ref from hub.endpoints e where e.id = (replays.filter ->> 'endpoint_id')::uuid),
		(select i.tenant_id from hub.integrations i where i.id = (replays.filter ->> 'integration_id')::uuid))`
	replayEnvironmentSQL = `coalesce(replays.environment, replays.filter ->> 'environment',
		(select e.environment from hub.endpoints e where e.id = (replays.filter ->> 'endpoint_id')::uuid and e.tenant_ref is not null),
		(select i.environment from hub.integrations i where i.id = (replays.filter ->> 'integration_id')::uuid))`
)

func scanReplay(row pgx.CollectableRow) (r Replay, err error) {
	var filter []byte
	if err := row.Scan(&r.ID, &r.Kind, &filter, &r.Status, &r.Total, &r.Done, &r.Delivered, &r.Parked, &r.Failed, &r.Error, &r.TenantID, &r.CreatedBy, &r.CreatedAt, &r.FinishedAt); err != nil {
		return r, err
	}
	return r, json.Unmarshal(filter, &r.Filter)
}

// Replays creates, lists and runs replays. Any process may work on a replay: a row lock and
// a cursor let another process continue where one stopped.
type Replays struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	now  func() time.Time
	wake func(target uuid.UUID)
	// parkQueued parks deliveries of cancelled replays that wait in the queue of this process; nil:
	// it has none.
	parkQueued func(ids []uuid.UUID)

	counts *countGate
	limits countLimits
}

// NewReplays returns the replay service. It calls wake with each target that has due deliveries.
func NewReplays(pool *pgxpool.Pool, log *slog.Logger, now func() time.Time, wake func(uuid.UUID)) *Replays {
	return &Replays{
		pool: pool, log: log, now: now, wake: wake, counts: newCountGate(), limits: countLimits{time: maxCountTime, cost: maxCountCost},
	}
}

// OnCancelled makes the service call park with the deliveries of cancelled replays that no
// process has attempted: park parks those that wait in this process.
func (s *Replays) OnCancelled(park func(ids []uuid.UUID)) *Replays {
	s.parkQueued = park
	return s
}

// Count returns how many settled deliveries that a filter matches a replay would send now. Those
// that were discarded, or whose endpoint is disabled or deleted, do not count: the replay itself
// counts them as failed, with erased ones. The error is that of [countGate.enter], or a
// [hub.ErrInvalid] where counting takes too long.
func (s *Replays) Count(ctx context.Context, f query.Filter, owner query.Owner) (n int64, err error) {
	leave, err := s.counts.enter(ctx, owner)
	if err != nil {
		return 0, err
	}
	defer leave()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		n, err = s.count(ctx, tx, f, s.upperBound(), "d.reason is distinct from '"+delivery.ReasonDiscarded+"' and "+targetAcceptsSQL)
		return err
	})
	return n, err
}

// upperBound returns the upper id bound of a new replay, with one second for clock skew.
// finished_at decides membership.
func (s *Replays) upperBound() uuid.UUID { return logid.Floor(s.now().Add(time.Second)) }

// count counts the settled deliveries that a filter and further conditions match.
func (s *Replays) count(ctx context.Context, tx pgx.Tx, f query.Filter, upto uuid.UUID, further ...string) (n int64, err error) {
	if err := boundStatements(ctx, tx, s.limits.time); err != nil {
		return 0, err
	}
	c, ok, err := f.Conditions(ctx, tx)
	if err != nil || !ok {
		return 0, countError("deliveries", err)
	}
	c.Add("d.status <> 0 and not d.inbound and d.finished_at <= now()")
	c.Add("d.id <= ?", upto)
	for _, condition := range further {
		c.Add(condition)
	}
	err = tx.QueryRow(ctx, `select count(*) from hub.deliveries d where `+c.Where(), c.Args()...).Scan(&n)
	return n, countError("deliveries", err)
}

// Creator is who starts a job.
type Creator struct {
	Label string      // for people
	Owner query.Owner // whom the job belongs to; the zero value: the operators
}

// Create starts a replay of what matches now: deliveries that are settled later do not
// belong to it. One transaction counts and creates it, so that both see the same log. That of
// a tenant needs a filter by tenant and environment.
func (s *Replays) Create(ctx context.Context, f query.Filter, by Creator) (replay Replay, err error) {
	leave, err := s.counts.enter(ctx, by.Owner)
	if err != nil {
		return Replay{}, err
	}
	defer leave()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := requireRoom(ctx, tx, by.Owner); err != nil {
			return err
		}
		upto := s.upperBound()
		total, err := s.count(ctx, tx, f, upto)
		if err != nil {
			return err
		}
		replay, err = s.insert(ctx, tx, KindReplay, ReplayFilter{Filter: f}, total, upto, by)
		return err
	})
	return replay, err
}

func (s *Replays) insert(ctx context.Context, tx pgx.Tx, kind ReplayKind, f ReplayFilter, total int64, upto uuid.UUID, by Creator) (Replay, error) {
	filter, err := json.Marshal(f)
	if err != nil {
		return Replay{}, fmt.Errorf("writing the filter: %w", err)
	}
	rows, err := tx.Query(ctx, `
		insert into hub.replays (id, kind, filter, status, total, upto, created_by, created_at, retry_at, tenant_id, environment)
		values ($1, $2, $3, 'running', $4, $5, $6, now(), 'infinity', $7, nullif($8, '')) returning `+replayColumns,
		logid.New(s.now()), kind, filter, total, upto, by.Label, by.Owner.TenantID, by.Owner.Environment)
	return collectReplay(rows, err)
}

// ownedSQL is true of the replays of an owner, $1 and $2; of all with the zero value.
const ownedSQL = `($1::uuid is null or tenant_id = $1) and $2 in ('', environment)`

// Get reads one of the owner's replays.
func (s *Replays) Get(ctx context.Context, id uuid.UUID, owner query.Owner) (Replay, error) {
	rows, err := s.pool.Query(ctx, `select `+replayColumns+` from hub.replays where `+ownedSQL+` and id = $3`, owner.TenantID, owner.Environment, id)
	return collectReplay(rows, err)
}

// List returns the owner's newest replays, older than before where it is set.
func (s *Replays) List(ctx context.Context, owner query.Owner, before *uuid.UUID, limit int) ([]Replay, error) {
	return s.list(ctx, ownedSQL, owner, before, limit)
}

// ListAbout is [Replays.List] for operators: the replays that send deliveries of a tenant and an
// environment only, whoever started them.
func (s *Replays) ListAbout(ctx context.Context, scope query.Owner, before *uuid.UUID, limit int) ([]Replay, error) {
	return s.list(ctx, `($1::uuid is null or `+replayTenantSQL+` = $1) and ($2 = '' or `+replayEnvironmentSQL+` = $2)`, scope, before, limit)
}

func (s *Replays) list(ctx context.Context, condition string, owner query.Owner, before *uuid.UUID, limit int) ([]Replay, error) {
	rows, err := s.pool.Query(ctx, `
		select `+replayColumns+` from hub.replays where `+condition+` and ($3::uuid is null or id < $3) order by id desc limit $4`,
		pgx.QueryExecModeCacheDescribe, owner.TenantID, owner.Environment, before, limit)
	if err != nil {
		return nil, fmt.Errorf("listing replays: %w", err)
	}
	replays, err := pgx.CollectRows(rows, scanReplay)
	if err != nil {
		return nil, fmt.Errorf("listing replays: %w", err)
	}
	return replays, nil
}

func collectReplay(rows pgx.Rows, err error) (Replay, error) {
	if err != nil {
		return Replay{}, fmt.Errorf("reading a replay: %w", err)
	}
	replay, err := pgx.CollectExactlyOneRow(rows, scanReplay)
	if errors.Is(err, pgx.ErrNoRows) {
		return Replay{}, hub.Errorf(hub.ErrNotFound, "not_found", "There is no such replay.")
	}
	if err != nil {
		return Replay{}, fmt.Errorf("reading a replay: %w", err)
	}
	return replay, nil
}
