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
	row   dbgen.Job
	taken time.Time // on this process's clock, before the database's
}

// claim leases the next due run of a job, which it plans first where it repeats. It returns
// nil if no run is due, or if another process runs the job.
func (r *Runner) claim(ctx context.Context, job module.Job) (*claim, error) {
	now := r.now()
	state, err := dbgen.New(r.db).JobState(ctx, dbgen.JobStateParams{Product: r.product, Job: job.Name, At: now})
	if err != nil {
		return nil, store.Wrap("looking for due jobs", err)
	}
	isPlanned := state.IsPlanned || job.Every == 0
	if isPlanned && !state.IsDue {
		return nil, nil
	}
	if !isPlanned {
		err := dbgen.New(r.db).CreateRepeatingJob(ctx, dbgen.CreateRepeatingJobParams{ID: uuid.Must(uuid.NewV7()), Product: r.product, Job: job.Name, DueAt: now})
		if err != nil {
			return nil, store.Wrap("planning a job", err)
		}
	}
	claimed := claim{taken: time.Now()}
	err = store.InTx(ctx, r.db, func(tx pgx.Tx) error {
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
