package service

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/cmd/bench/internal/floor"
	"integrationhub/cmd/bench/internal/process"
	"integrationhub/hub/hubtest"
)

// Floor runs the bench's floor subcommand.
type Floor struct {
	Programs    *Programs
	environment Environment
}

// Start implements [Service]. The floor has exactly one hook.
func (f *Floor) Start(ctx context.Context, environment Environment) (*process.Process, Target, error) {
	f.environment = environment
	if len(environment.Hooks) != 1 {
		return nil, Target{}, fmt.Errorf("starting floor: it delivers to one endpoint, not %d", len(environment.Hooks))
	}
	address, err := hubtest.FreeAddress()
	if err != nil {
		return nil, Target{}, err
	}
	cmd := f.Programs.BenchCommand("floor", "--listen", address, "--database", environment.Cluster.DatabaseURL, "--target", environment.Hooks[0])
	p, err := process.Start("floor", environment.Dir, cmd, syscall.SIGTERM)
	if err != nil {
		return nil, Target{}, err
	}
	if err := p.WaitUntil(ctx, 10*time.Second, process.RespondsOK("http://"+address+"/ready")); err != nil {
		p.Stop()
		return nil, Target{}, err
	}
	return p, Target{URL: "http://" + address + "/events", Secrets: []string{floor.Secret}}, nil
}

// CheckLogComplete counts the log rows: a floor without its log would be too fast.
func (f *Floor) CheckLogComplete(ctx context.Context, attempts int) error {
	logged, err := f.count(ctx, `SELECT count(*) FROM attempts`)
	if err != nil {
		return err
	}
	if logged < attempts {
		return fmt.Errorf("floor's log has %d of %d attempts", logged, attempts)
	}
	return nil
}

// UnfinishedDeliveries returns 1 for an event that is stored and has no successful attempt.
func (f *Floor) UnfinishedDeliveries(ctx context.Context, eventID string) (int, error) {
	return f.count(ctx, `SELECT count(*) FROM events e WHERE id = ('x' || substr($1, 5))::bit(64)::bigint
		AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.event_id = e.id AND a.status BETWEEN 200 AND 299)`, eventID)
}

func (f *Floor) count(ctx context.Context, query string, args ...any) (int, error) {
	conn, err := pgx.Connect(ctx, f.environment.Cluster.DatabaseURL)
	if err != nil {
		return 0, fmt.Errorf("connecting to the floor's database: %w", err)
	}
	defer conn.Close(ctx)
	var n int
	if err := conn.QueryRow(ctx, query, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting in the floor's database: %w", err)
	}
	return n, nil
}
