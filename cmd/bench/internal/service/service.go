package service

import (
	"context"

	"integrationhub/cmd/bench/internal/cluster"
	"integrationhub/cmd/bench/internal/process"
)

// Environment is what a service under test is started with.
type Environment struct {
	Dir     string           // its own directory
	Cluster *cluster.Cluster // its own PostgreSQL and Redis
	Hooks   []string         // receiver URLs; every event goes to each of them
}

// Target is how the generator reaches a running service.
type Target struct {
	URL     string   // POST here
	Key     string   // X-Integration-Key; empty when the service wants none
	Secrets []string // signing secret of each hook
}

// Service is a program under test: the floor or the gateway. Everything else in
// a run is the same for both.
type Service interface {
	// Start starts the program, waits until it is ready and makes it deliver
	// every event to every hook.
	Start(ctx context.Context, s Environment) (*process.Process, Target, error)
	// CheckLogComplete reports whether the service's own delivery log is complete after so
	// many attempts; an error says what is still missing.
	CheckLogComplete(ctx context.Context, attempts int) error
	// UnfinishedDeliveries gives how many deliveries of an event the log holds as pending,
	// parked or failed.
	UnfinishedDeliveries(ctx context.Context, eventID string) (int, error)
}
