package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"integrationhub/hub/internal/api"
)

// Limits of the checks that a request waits for.
const (
	examineTimeout = 5 * time.Second
	sweepTolerance = 30 * time.Second
)

// examine checks the installation from within the running hub. It makes the doctor's checks
// except those that count the log. The groups of checks run at once, and together take at
// most 5 s.
func (s *Server) examine(ctx context.Context) []api.HealthCheck {
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	cfg, modules, db := s.options.Config, s.options.Modules, s.storage.api
	groups := []func(report func(Finding)){
		func(report func(Finding)) {
			if err := db.Ping(ctx); err != nil {
				report(Finding{"database", FindingFailed, "PostgreSQL does not respond: " + oneLine(err), "check that it runs and that HUB_DATABASE_URL is right"})
				return
			}
			checkDatabase(ctx, db, report)
			checkConnections(ctx, db, len(enabledModules(cfg, modules)), report)
			if checkMigrations(ctx, cfg, db.Config().ConnString(), modules, report) {
				checkPartitions(ctx, db, report)
				checkBacklog(ctx, db, report)
			}
		},
		func(report func(Finding)) { report(sweepFinding(s.engine.dispatcher.SinceSweep())) },
		func(report func(Finding)) { checkDisks(cfg, report) },
		func(report func(Finding)) { report(s.redisFinding(ctx)) },
		func(report func(Finding)) { checkEgress(ctx, cfg, report) },
	}
	found := make([][]api.HealthCheck, len(groups))
	var running sync.WaitGroup
	for i, group := range groups {
		running.Go(func() {
			group(func(f Finding) { found[i] = append(found[i], api.HealthCheck(f)) })
		})
	}
	running.Wait()
	var checks []api.HealthCheck
	for _, list := range found {
		checks = append(checks, list...)
	}
	return checks
}

// redisFinding asks Redis by the hub's own client.
func (s *Server) redisFinding(ctx context.Context) Finding {
	if s.options.Config.RedisURL.Reveal() == "" {
		return Finding{"redis", FindingOK, "in the hub's own process", ""}
	}
	start := time.Now()
	if _, err := s.probes.ping(ctx); err != nil {
		return Finding{"redis", FindingWarning, "Redis does not respond: " + oneLine(err), "nothing is lost: limits are counted per process and retries come up to 3 s late until it is back"}
	}
	return Finding{"redis", FindingOK, "responds in " + time.Since(start).Round(10*time.Microsecond).String(), ""}
}

// sweepFinding judges the time since the sweep last succeeded in this process.
func sweepFinding(since time.Duration, swept bool) Finding {
	switch {
	case !swept:
		return Finding{"sweep", FindingWarning, "has not run in this process yet", "look again in some seconds"}
	case since > sweepTolerance:
		return Finding{"sweep", FindingFailed, fmt.Sprintf("last succeeded %s ago", since.Round(time.Second)), `look for "sweeping due deliveries failed" in the hub's log`}
	}
	return Finding{"sweep", FindingOK, fmt.Sprintf("last ran %s ago", since.Round(100*time.Millisecond)), ""}
}
