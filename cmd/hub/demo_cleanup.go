package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"integrationhub/cmd/hub/internal/client"
)

// madeOrThere turns the conflict of making what is there already into no error.
func madeOrThere(err error) (made bool, _ error) {
	var problem *client.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusConflict {
		return false, nil
	}
	return err == nil, err
}

// removeLeftovers removes what a demo left behind that was killed. Younger ones may
// belong to a demo that is running beside this one.
func (d *demo) removeLeftovers(ctx context.Context, tenant string) {
	old := func(at time.Time) bool { return d.app.now().Sub(at) > demoLeftover }
	page := client.PageQuery{Limit: pageMax}
	if keys, err := d.operator.Keys(ctx, tenant, page); err == nil {
		for _, k := range keys.Value.Items {
			if k.Name == demoMark && k.RevokedAt == nil && old(k.CreatedAt) {
				d.tell(d.operator.RevokeKey(ctx, k.ID))
			}
		}
	}
	if endpoints, err := d.operator.Endpoints(ctx, tenant, page); err == nil {
		for _, e := range endpoints.Value.Items {
			if e.Description == demoMark && old(e.CreatedAt) {
				d.tell(d.operator.DeleteEndpoint(ctx, e.ID))
			}
		}
	}
}

// cleanUp removes the endpoint and the key and ends the receiver, also after Ctrl-C.
func (d *demo) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, undo := range slices.Backward(d.undo) {
		d.tell(undo(ctx))
	}
	if d.server != nil {
		d.server.Close(ctx)
	}
}

// tell warns of something that could not be removed.
func (d *demo) tell(err error) {
	if err != nil {
		d.app.warn("cleaning up: %s", printable(err.Error()))
	}
}

// step begins a numbered step and names the command that does the same.
func (d *demo) step(sentence, command string) {
	d.steps++
	d.say("\n%s", d.app.paint(bold, fmt.Sprintf("%d. %s", d.steps, sentence)))
	d.say("   $ %s", command)
}

// say prints to people: on stdout, unless that is JSON's.
func (d *demo) say(format string, args ...any) {
	switch {
	case d.app.json():
		d.app.note(format, args...)
	case !d.app.quiet:
		d.app.print(format, args...)
	}
}
