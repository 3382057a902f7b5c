// Command hubnotes is a hub with the products of package notes, for tests that need
// one in a process of its own, to kill. Settings come from the environment; with
// NOTES_RATE set, that many requests a minute are what the products take of each other.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"integrationhub/hub"
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
	connectors, err := peers(os.Getenv("NOTES_RATE"))
	if err != nil {
		return err
	}
	s, err := server.Start(ctx, server.Options{
		Config: cfg, Version: "test", Log: slog.New(slog.NewJSONHandler(os.Stderr, nil)),
		Modules: []module.Module{notes.New("notes"), notes.New("board")}, Connectors: connectors,
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

// peers are connectors of the products that take so many requests a minute; none for "".
func peers(rate string) ([]hub.Connector, error) {
	if rate == "" {
		return nil, nil
	}
	perMinute, err := strconv.Atoi(rate)
	if err != nil {
		return nil, fmt.Errorf("reading NOTES_RATE: %w", err)
	}
	var list []hub.Connector
	for _, name := range []string{"notes", "board"} {
		peer := hub.NewPeerConnector(name, name)
		peer.PeerSpec.RatePerMinute = perMinute
		list = append(list, peer)
	}
	return list, nil
}
