package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/connectors/all"
	"integrationhub/hub/config"
	"integrationhub/hub/embedded"
	"integrationhub/hub/server"
)

const serveLong = `Run the hub. Without HUB_DATABASE_URL it runs a private PostgreSQL from programs
found on this machine, with its data in --data-dir; without HUB_REDIS_URL what Redis
would hold lives in the process. Several hubs share one PostgreSQL and one Redis.`

func newServe(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the hub", Long: serveLong, Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd, false) },
	}
	settingFlags(cmd)
	return cmd
}

func newWorker(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a hub that only delivers, beside others that serve",
		Long: `Run a hub that takes its share of deliveries and serves nothing but /health, /ready
and /metrics on --listen. It needs HUB_DATABASE_URL and HUB_REDIS_URL of the hubs it helps.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd, true) },
	}
	settingFlags(cmd)
	return cmd
}

func (a *app) serve(cmd *cobra.Command, worker bool) error {
	start := a.now()
	cfg, err := a.loadConfig(cmd)
	if err != nil {
		return err
	}
	if worker && (cfg.DatabaseURL == "" || cfg.RedisURL == "" || cfg.MasterKey == "") {
		return &failure{code: exitConfig, err: errors.New("a worker shares the database, the Redis and the master key of the hubs it helps"),
			hint: "set HUB_DATABASE_URL, HUB_REDIS_URL and HUB_MASTER_KEY as they have them"}
	}
	removeTemp, err := server.UseTempDir(cfg.DataDir)
	if err != nil {
		return &failure{code: exitConfig, err: err, hint: "HUB_DATA_DIR or --data-dir must be a directory that this user may write to"}
	}
	defer removeTemp()
	ctx := cmd.Context()
	s, err := server.Start(ctx, server.Options{
		Config: cfg, Version: versionName(), Log: a.logger(cfg), Worker: worker, Search: postgresPlaces(),
		Connectors: all.List(), Modules: modules(),
	})
	if err != nil {
		return startFailure(err)
	}
	a.banner(cfg, s, worker, a.now().Sub(start))
	select {
	case <-ctx.Done():
		err = nil
	case err = <-s.Failed():
	}
	a.note("stopping: finishing what is in flight, at most %s (again Ctrl-C ends it at once; nothing is lost)", cfg.ShutdownGrace)
	s.Stop()
	return err
}

// postgresPlaces returns where this repository's setup scripts put PostgreSQL's programs.
func postgresPlaces() []string {
	roots := []string{"."}
	if self, err := os.Executable(); err == nil {
		roots = append(roots, filepath.Dir(filepath.Dir(self)))
	}
	var places []string
	for _, root := range roots {
		places = append(places, filepath.Join(root, ".cache", "pg", "bin"))
	}
	return places
}

// startFailure returns the error of a failed start with its exit code and hint.
func startFailure(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case errors.Is(err, embedded.ErrNoBinaries), errors.Is(err, embedded.ErrVersionMismatch), errors.Is(err, embedded.ErrNoVersion), errors.Is(err, embedded.ErrInUse),
		errors.Is(err, server.ErrSetting):
		return &failure{code: exitConfig, err: err}
	case errors.Is(err, server.ErrNoDatabase):
		return &failure{code: exitConfig, err: err, hint: "check that PostgreSQL runs there and that HUB_DATABASE_URL has the right user, password and database; without HUB_DATABASE_URL the hub runs a private one"}
	case errors.Is(err, syscall.EADDRINUSE):
		return &failure{code: exitConfig, err: err, hint: "another program has this port; choose one with --listen 127.0.0.1:8081 (and another --data-dir for a second hub)"}
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "listen" {
		return &failure{code: exitConfig, err: err, hint: "HUB_LISTEN or --listen must be an address of this machine"}
	}
	return &failure{code: exitFailure, err: err}
}

// banner prints the hub's addresses and the first login.
func (a *app) banner(cfg config.Config, s *server.Server, worker bool, startTime time.Duration) {
	if worker {
		a.note("hub worker is delivering; probes and metrics at %s", s.URL())
		return
	}
	base := s.URL()
	a.note("%s", a.errPaint(bold, "Integration Hub "+versionName()+" is ready")+" ("+startTime.Round(time.Millisecond).String()+")")
	a.note("")
	a.note("  Console    %s/   (in a browser)", base)
	a.note("  API        %s/api/v1", base)
	if !cfg.IsProduction() {
		a.note("  Reference  %s/docs", base)
		a.note("  E-mails    %s/api/v1/dev/mail   (for administrators: invitations and all other e-mails)", base)
	}
	a.note("  Health     %s/health   %s/ready   %s/metrics", base, base, base)
	for _, product := range s.Products() {
		a.note("")
		a.note("  %s", product.Title)
		a.note("    API        %s/api/v1", product.URL)
		if !cfg.IsProduction() {
			a.note("    Reference  %s/docs", product.URL)
		}
		for _, page := range product.Pages {
			if strings.HasSuffix(page, "/") {
				page += "…" // and what it is about
			}
			a.note("    Pages      %s", page)
		}
	}
	if len(s.Products()) > 0 {
		a.note("")
	}
	if s.EmbeddedDatabase() {
		a.note("  Data       %s (private PostgreSQL)", cfg.DataDir)
	}
	if first := s.FirstOperator(); first.Created {
		a.note("")
		a.note("  First operator  %s", first.Email)
		if first.Password != "" {
			a.note("  Password        %s   (shown this once; log in with: hub login)", first.Password)
		}
	}
	if !cfg.IsProduction() { // where the demo's receivers on this machine are refused
		a.note("")
		a.note("Try it from another terminal: hub demo")
	}
}
