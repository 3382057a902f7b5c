package api

import (
	"context"
	"time"
)

// HealthCheck is the result of one check of the installation.
type HealthCheck struct {
	Check  string `json:"check" maxLength:"40" example:"database" doc:"What was checked: database, connections, clock, migrations, partitions, backlog, sweep, redis or egress"`
	Status string `json:"status" enum:"ok,warning,failed" doc:"failed: the hub does not work as it should; warning: it works, and something needs attention"`
	Detail string `json:"detail" example:"PostgreSQL 17.2 responds in 310µs" doc:"What was found, for people"`
	Advice string `json:"advice" doc:"What to do; empty: nothing"`
}

// Health is the state of the installation, as one process sees it.
type Health struct {
	Version string        `json:"version" example:"1.4.0" doc:"Of the process that responded"`
	Now     time.Time     `json:"now" doc:"Its clock"`
	Checks  []HealthCheck `json:"checks" nullable:"false" maxItems:"50" doc:"The checks of hub doctor that need no count of the log"`
}

func (a *API) health(ctx context.Context, _ *struct{}) (*struct{ Body Health }, error) {
	health := Health{Version: a.deps.Version, Now: a.deps.Now().UTC(), Checks: []HealthCheck{}}
	if a.deps.Examine != nil {
		health.Checks = append(health.Checks, a.deps.Examine(ctx)...)
	}
	return &struct{ Body Health }{health}, nil
}
