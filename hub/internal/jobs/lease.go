package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

const (
	leaseTime     = 15 * time.Second // of a claimed run, on the database's clock
	renewInterval = 5 * time.Second
	maxUnrenewed  = 11 * time.Second // then a run is cancelled; what is left of the lease is its time to stop
)

// claim is a run that this runner has leased.
type claim struct {
	row       dbgen.Job
	claimedAt time.Time // on this process's clock, before the database's
}

// state is which runs of a job there are.
type state struct {
	isPlanned bool // a run is, of those that repeat
	isDue     bool // a run is, and none is leased
}

// hasWork reports whether a run can be claimed, or has to be planned.
func (s state) hasWork(job module.Job) bool { return s.isDue || !s.isPlanned && job.Every > 0 }

// loadStates returns the states of jobs. Without work this is the only query of a process.
func (r *Runner) loadStates(ctx context.Context, names []string) (map[string]state, error) {
	rows, err := r.db.Query(ctx, `
		select name, exists (select from hub.jobs j where j.product = $1 and j.job = name and j.repeats),
			exists (select from hub.jobs j where j.product = $1 and j.job = name and j.due_at <= $3)
				and not exists (select from hub.jobs o where o.product = $1 and o.job = name and o.leased_to > statement_timestamp())
		from unnest($2::text[]) name`, r.product, names, r.now())
	if err != nil {
		return nil, store.Wrap("looking for due jobs", err)
	}
	states := make(map[string]state, len(names))
	var name string
	var s state
	_, err = pgx.ForEachRow(rows, []any{&name, &s.isPlanned, &s.isDue}, func() error {
		states[name] = s
		return nil
	})
	return states, store.Wrap("looking for due jobs", err)
}

// claim leases the next due run of a job in the state that was found, which it plans first
// where it repeats. It returns nil if no run is due any more, or if another process runs the job.
func (r *Runner) claim(ctx context.Context, job module.Job, found state) (*claim, error) {
	now := r.now()
	if !found.isPlanned && job.Every > 0 {
		err := dbgen.New(r.db).CreateRepeatingJob(ctx, dbgen.CreateRepeatingJobParams{ID: uuid.Must(uuid.NewV7()), Product: r.product, Job: job.Name, DueAt: now})
		if err != nil {
			return nil, store.Wrap("planning a job", err)
		}
	}
	claimed := claim{claimedAt: time.Now()}
	err := store.InTx(ctx, r.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		locked, err := queries.TryLockJob(ctx, r.product, job.Name)
		if err != nil {
			return err
		}
		if !locked {
			return pgx.ErrNoRows
		}
		claimed.row, err = queries.ClaimJob(ctx, dbgen.ClaimJobParams{Seconds: leaseTime.Seconds(), Holder: r.holder, Product: r.product, Job: job.Name, At: now})
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, store.Wrap("claiming a job", err)
	}
	return &claimed, nil
}

// renew renews the lease of a run. It reports whether this process still has it.
func (r *Runner) renew(ctx context.Context, run uuid.UUID) (isHeld bool, err error) {
	rows, err := dbgen.New(r.db).RenewJob(ctx, dbgen.RenewJobParams{Seconds: leaseTime.Seconds(), ID: run, Holder: r.holder})
	return rows > 0, err
}
