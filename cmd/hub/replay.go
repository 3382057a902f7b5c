package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// replayPoll is how often a running replay is looked at.
const replayPoll = 500 * time.Millisecond

// replayFlags are the flags of `hub replay`.
type replayFlags struct {
	filter              logFilter
	dryRun, yes, detach bool
}

func newReplay(a *app) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Deliver again everything a filter matches",
		Long: `Deliver again everything a filter matches. The hub counts first and asks; then a
job runs in the hub, and goes on there if this command or the hub ends.`,
		Example: `  hub replay --tenant Acme --status failed --since 7d --dry-run
  hub replay --endpoint 0198… --status parked --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.replay(cmd.Context(), f)
		},
	}
	f.filter.addTo(cmd)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only count what matches")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&f.detach, "detach", false, "start it, print its id, do not wait")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "detach")
	return cmd
}

func (a *app) replay(ctx context.Context, f replayFlags) error {
	c, err := a.calls()
	if err != nil {
		return err
	}
	query, err := f.filter.resolve(ctx, a, c)
	if err != nil {
		return err
	}
	if query.Empty() {
		return usagef("a replay needs at least one filter, such as --status failed or --since 24h")
	}
	if !f.dryRun && !f.yes && !a.interactive() {
		return usagef("--yes is needed: there is no terminal to ask on (--dry-run counts)")
	}
	if f.dryRun || !f.yes {
		count, err := c.CountReplay(ctx, query)
		if err != nil {
			return err
		}
		if f.dryRun {
			return a.counted(count)
		}
		if count.Value.Count == 0 {
			a.note("nothing matches")
			return nil
		}
		if !a.ask(ctx, fmt.Sprintf("Deliver %d deliveries again?", count.Value.Count)) {
			return &failure{code: exitFailure, err: fmt.Errorf("not replayed")}
		}
	}
	reply, err := c.StartReplay(ctx, query)
	if err != nil {
		return err
	}
	if f.detach {
		return a.replayStarted(reply)
	}
	return a.watchReplay(ctx, c, reply)
}

func (a *app) counted(reply client.Reply[client.ReplayCount]) error {
	if a.json() {
		return a.printRaw(reply.Raw)
	}
	a.print("%d", reply.Value.Count)
	return nil
}

func (a *app) replayStarted(reply client.Reply[client.Replay]) error {
	r := reply.Value
	return a.created(reply.Raw, r.ID, "id", r.ID, "status", r.Status, "total", fmt.Sprint(r.Total))
}

// watchReplay shows the progress of a replay until it ends or the user leaves.
func (a *app) watchReplay(ctx context.Context, c *client.Client, reply client.Reply[client.Replay]) error {
	tick := time.NewTicker(replayPoll)
	defer tick.Stop()
	var shown client.Replay
	for reply.Value.Status == "running" {
		if r := reply.Value; r.Done != shown.Done || r.Failed != shown.Failed || shown.ID == "" {
			a.note("%s: %d of %d, %d failed", terminal.Printable(r.ID), r.Done, r.Total, r.Failed)
			shown = r
		}
		select {
		case <-ctx.Done():
			return a.leaveReplay(c, reply.Value.ID)
		case <-tick.C:
		}
		next, err := c.Replay(ctx, reply.Value.ID)
		if ctx.Err() != nil {
			return a.leaveReplay(c, reply.Value.ID)
		}
		if err != nil {
			return fmt.Errorf("the replay %s goes on in the hub, but watching it failed: %w", reply.Value.ID, err)
		}
		reply = next
	}
	return a.replayEnded(reply)
}

// replayEnded prints the outcome and turns it into an exit code.
func (a *app) replayEnded(reply client.Reply[client.Replay]) error {
	r := reply.Value
	if err := a.created(reply.Raw, r.ID, "id", r.ID, "status", r.Status,
		"total", fmt.Sprint(r.Total), "done", fmt.Sprint(r.Done), "failed", fmt.Sprint(r.Failed)); err != nil {
		return err
	}
	switch {
	case r.Status == "cancelled", r.Status == "done" && r.Failed > 0:
		return &failure{code: exitPartial, err: fmt.Errorf("the replay is %s: %d of %d done, %d failed", r.Status, r.Done, r.Total, r.Failed)}
	case r.Status != "done":
		return &failure{code: exitFailure, err: fmt.Errorf("the replay %s is %s: %s", r.ID, r.Status, r.Error)}
	}
	return nil
}

// leaveReplay is what Ctrl-C does: the job goes on, unless the user says otherwise.
func (a *app) leaveReplay(c *client.Client, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if !a.interactive() || !a.ask(ctx, "\nCancel the replay as well? Without an answer it goes on in the hub.") {
		return &failure{code: exitFailure, err: fmt.Errorf("interrupted: the replay %s goes on in the hub", id)}
	}
	reply, err := c.CancelReplay(ctx, id)
	if err != nil {
		return fmt.Errorf("cancelling the replay: %w", err)
	}
	return a.replayEnded(reply)
}
