// Command hubnotes is a hub with the products of package notes, for tests that need
// one in a process of its own, to kill. Settings come from the environment.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"integrationhub/hub/config"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
	"integrationhub/hub/server"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	cfg, _, err := config.Load(config.Sources{Environ: os.Environ()})
	if err != nil {
		return err
	}
	s, err := server.Start(ctx, server.Options{
		Config: cfg, Version: "test", Log: slog.New(slog.NewJSONHandler(os.Stderr, nil)),
		Modules: []module.Module{notes.New("notes"), notes.New("board")},
	})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case err = <-s.Failed():
	}
	s.Stop()
	return err
}
