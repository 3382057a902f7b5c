package main

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/hubtest"
)

// surroundings is what a service under test is started with.
type surroundings struct {
	dir     string   // its own directory
	cluster *cluster // its own PostgreSQL and Redis
	hooks   []string // receiver URLs; every event goes to each of them
}

// intake is how the generator reaches a running service.
type intake struct {
	url     string   // POST here
	key     string   // X-Integration-Key; empty when the service wants none
	secrets []string // signing secret of each hook
}

// service is a program under test: the floor or the gateway. Everything else in
// a run is the same for both.
type service interface {
	// start starts the program, waits until it is ready and makes it deliver
	// every event to every hook.
	start(ctx context.Context, s surroundings) (*process, intake, error)
	// settled reports whether the service's own delivery log is complete after so
	// many attempts; an error says what is still missing.
	settled(ctx context.Context, attempts int) error
	// standing gives how many deliveries of an event the log holds as pending,
	// parked or failed.
	standing(ctx context.Context, eventID string) (int, error)
}

// floorService runs this program's floor subcommand.
type floorService struct {
	bench *bench
	where surroundings
}

func (f *floorService) start(ctx context.Context, s surroundings) (*process, intake, error) {
	f.where = s
	if len(s.hooks) != 1 {
		return nil, intake{}, fmt.Errorf("starting floor: it delivers to one endpoint, not %d", len(s.hooks))
	}
	address, err := hubtest.FreeAddress()
	if err != nil {
		return nil, intake{}, err
	}
	cmd := f.bench.self("floor", "--listen", address, "--database", s.cluster.databaseURL, "--target", s.hooks[0])
	p, err := startProcess("floor", s.dir, cmd, syscall.SIGTERM)
	if err != nil {
		return nil, intake{}, err
	}
	if err := p.until(ctx, 10*time.Second, answers("http://"+address+"/ready")); err != nil {
		p.end()
		return nil, intake{}, err
	}
	return p, intake{url: "http://" + address + "/events", secrets: []string{floorSecret}}, nil
}

// settled counts the log rows: the floor that skips its log is no yardstick.
func (f *floorService) settled(ctx context.Context, attempts int) error {
	logged, err := f.count(ctx, `SELECT count(*) FROM attempts`)
	if err != nil {
		return err
	}
	if logged < attempts {
		return fmt.Errorf("floor's log has %d of %d attempts", logged, attempts)
	}
	return nil
}

// standing is 1 for an event that is stored and has no successful attempt.
func (f *floorService) standing(ctx context.Context, eventID string) (int, error) {
	return f.count(ctx, `SELECT count(*) FROM events e WHERE id = ('x' || substr($1, 5))::bit(64)::bigint
		AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.event_id = e.id AND a.status BETWEEN 200 AND 299)`, eventID)
}

func (f *floorService) count(ctx context.Context, query string, args ...any) (int, error) {
	conn, err := pgx.Connect(ctx, f.where.cluster.databaseURL)
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

// self is a command that runs a subcommand of this very program.
func (b *bench) self(args ...string) *exec.Cmd {
	return exec.Command(b.executable, args...)
}
