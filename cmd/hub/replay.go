package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// replayPoll is the interval between reads of a running replay.
const replayPoll = 500 * time.Millisecond

// replayFlags are the flags of `hub replay`.
type replayFlags struct {
	filter logFilter
	replayOptions
}

func newReplay(a *app) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Deliver again everything a filter matches",
		Long: `Deliver again everything a filter matches. The hub counts first and asks; then a
job runs in the hub, and goes on there if this command or the hub ends.`,
		Example: `  hub replay --tenant Acme --status failed --since 7d --dry-run
  hub replay --endpoint 0198… --status parked --yes
  hub replay cancel 0198…`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.replay(cmd.Context(), f)
		},
	}
	f.filter.addTo(cmd)
	f.addOptionsTo(cmd)
	cmd.AddCommand(newReplayList(a), newReplayShow(a), newReplayCancel(a))
	return cmd
}

func newReplayList(a *app) *cobra.Command {
	var p paging
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List replays and recoveries, newest first",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			return listing[client.Replay]{
				fetch: c.Replays,
				columns: []column{{title: "id"}, {title: "kind"}, {title: "status", paint: statusColour}, {title: "total"}, {title: "delivered"}, {title: "parked"},
					{title: "failed"}, {title: "by"}, {title: "created"}},
				row: func(r client.Replay) []string {
					return []string{r.ID, r.Kind, r.Status, fmt.Sprint(r.Total), fmt.Sprint(r.Delivered), fmt.Sprint(r.Parked), fmt.Sprint(r.Failed), r.CreatedBy, clock(r.CreatedAt)}
				},
				id: func(r client.Replay) string { return r.ID },
			}.show(cmd.Context(), a, p)
		},
	}
	p.addTo(cmd)
	return cmd
}

func newReplayShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a replay and its progress",
		Args:  exactly("the replay's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.Replay(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printReplay(reply)
		},
	}
}

func newReplayCancel(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID",
		Short: "Stop a replay; what it has not attempted yet is parked",
		Args:  exactly("the replay's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.CancelReplay(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printReplay(reply)
		},
	}
}

// printReplay prints a replay with its counts.
func (a *app) printReplay(reply client.Reply[client.Replay]) error {
	r := reply.Value
	return a.printCreated(reply.Raw, r.ID, "id", r.ID, "status", r.Status, "total", fmt.Sprint(r.Total), "done", fmt.Sprint(r.Done),
		"delivered", fmt.Sprint(r.Delivered), "parked", fmt.Sprint(r.Parked), "failed", fmt.Sprint(r.Failed))
}

func (a *app) replay(ctx context.Context, f replayFlags) error {
	c, err := a.operatorClient()
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
	return a.startJob(ctx, c, replayJob{
		replayOptions: f.replayOptions, question: "Deliver %d deliveries again?",
		count: func() (client.Reply[client.ReplayCount], error) { return c.CountReplay(ctx, query) },
		start: func() (client.Reply[client.Replay], error) { return c.StartReplay(ctx, query) },
	})
}

// replayOptions are the flags of commands that start a job.
type replayOptions struct{ dryRun, yes, detach bool }

func (o *replayOptions) addOptionsTo(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "only count what would be sent")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&o.detach, "detach", false, "start it, print its id, do not wait")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "detach")
}

// replayJob is a job that is counted, confirmed and started.
type replayJob struct {
	replayOptions
	question string // with %d for the count
	count    func() (client.Reply[client.ReplayCount], error)
	start    func() (client.Reply[client.Replay], error)
}

// startJob counts, confirms, starts and watches a job, as its options say.
func (a *app) startJob(ctx context.Context, c *client.Client, job replayJob) error {
	if !job.dryRun && !job.yes && !a.interactive() {
		return usagef("--yes is needed: there is no terminal to ask on (--dry-run counts)")
	}
	if job.dryRun || !job.yes {
		count, err := job.count()
		if err != nil {
			return err
		}
		if job.dryRun {
			return a.printCount(count)
		}
		if count.Value.Count == 0 {
			a.note("nothing that matches can be sent now")
			return nil
		}
		if !a.ask(ctx, fmt.Sprintf(job.question, count.Value.Count)) {
			return &failure{code: exitFailure, err: fmt.Errorf("not started")}
		}
	}
	reply, err := job.start()
	if err != nil {
		return err
	}
	if job.detach {
		return a.printStarted(reply)
	}
	return a.watchReplay(ctx, c, reply)
}

func (a *app) printCount(reply client.Reply[client.ReplayCount]) error {
	if a.json() {
		return a.printRaw(reply.Raw)
	}
	a.print("%d", reply.Value.Count)
	return nil
}

func (a *app) printStarted(reply client.Reply[client.Replay]) error {
	r := reply.Value
	return a.printCreated(reply.Raw, r.ID, "id", r.ID, "status", r.Status, "total", fmt.Sprint(r.Total))
}

// watchReplay prints the progress of a replay until it ends or ctx is done.
func (a *app) watchReplay(ctx context.Context, c *client.Client, reply client.Reply[client.Replay]) error {
	tick := time.NewTicker(replayPoll)
	defer tick.Stop()
	var printed client.Replay
	for reply.Value.Status == "running" {
		if r := reply.Value; r.Done != printed.Done || r.Failed != printed.Failed || printed.ID == "" {
			a.note("%s: %d of %d, %d parked, %d failed", terminal.Printable(r.ID), r.Done, r.Total, r.Parked, r.Failed)
			printed = r
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
	return a.reportEnd(reply)
}

// reportEnd prints a replay that has ended and returns an error unless all was delivered.
func (a *app) reportEnd(reply client.Reply[client.Replay]) error {
	r := reply.Value
	if err := a.printReplay(reply); err != nil {
		return err
	}
	switch {
	case r.Status == "cancelled", r.Status == "done" && r.Parked+r.Failed > 0:
		return &failure{code: exitPartial, err: fmt.Errorf("the replay is %s: of %d, %d were delivered, %d parked, %d failed", r.Status, r.Total, r.Delivered, r.Parked, r.Failed), hint: replayHint(r)}
	case r.Status != "done":
		return &failure{code: exitFailure, err: fmt.Errorf("the replay %s is %s: %s", r.ID, r.Status, r.Error)}
	}
	return nil
}

// replayHint returns where to find why deliveries were not replayed, or "".
func replayHint(r client.Replay) string {
	if r.Parked+r.Failed == 0 {
		return ""
	}
	return "an erased payload, or an endpoint that was deleted or is disabled, cannot be replayed; the reason of one delivery: hub deliveries retry ID"
}

// leaveReplay handles Ctrl-C: it asks whether to cancel the job, which goes on otherwise.
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
	return a.reportEnd(reply)
}
