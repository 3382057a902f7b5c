// Package service starts a program under test: the floor, or the hub as gateway.
package service

import (
	"context"

	"integrationhub/cmd/bench/internal/cluster"
	"integrationhub/cmd/bench/internal/process"
)

// Environment is what a service is started with.
type Environment struct {
	Dir     string           // for its files
	Cluster *cluster.Cluster // PostgreSQL and Redis for this service alone
	Hooks   []string         // receiver URLs; every event is delivered to each
}

// Target is where a running service accepts events.
type Target struct {
	URL     string   // POST here
	Key     string   // X-Integration-Key; empty when the service needs none
	Secrets []string // signing secret of each hook
}

// Service is a program under test: the floor or the gateway. Everything else in a run
// is the same for both.
type Service interface {
	// Start starts the program, waits until it is ready, and makes it deliver every
	// event to every hook.
	Start(ctx context.Context, s Environment) (*process.Process, Target, error)
	// CheckLogComplete returns an error while the service's own delivery log lacks any of
	// the attempts.
	CheckLogComplete(ctx context.Context, attempts int) error
	// UnfinishedDeliveries returns how many deliveries of an event are pending, parked or
	// failed in the log.
	UnfinishedDeliveries(ctx context.Context, eventID string) (int, error)
}
