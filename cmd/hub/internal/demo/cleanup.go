package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// pageLimit is how many keys and endpoints are looked through: the most of one page.
const pageLimit = 200

// isConflict reports whether the hub refused to create something that exists.
func isConflict(err error) bool {
	var problem *client.Problem
	return errors.As(err, &problem) && problem.Status == http.StatusConflict
}

// removeLeftovers removes what a killed demo left behind. Younger keys and endpoints may
// belong to a demo that is running now.
func (d *demo) removeLeftovers(ctx context.Context, tenant string) {
	old := func(at time.Time) bool { return d.Now().Sub(at) > leftoverAge }
	page := client.PageQuery{Limit: pageLimit}
	if keys, err := d.Operator.Keys(ctx, tenant, page); err == nil {
		for _, k := range keys.Value.Items {
			if k.Name == label && k.RevokedAt == nil && old(k.CreatedAt) {
				d.warnIf(d.Operator.RevokeKey(ctx, k.ID))
			}
		}
	}
	if endpoints, err := d.Operator.Endpoints(ctx, tenant, page); err == nil {
		for _, e := range endpoints.Value.Items {
			if e.Description == label && old(e.CreatedAt) {
				d.warnIf(d.Operator.DeleteEndpoint(ctx, e.ID))
			}
		}
	}
}

// cleanUp removes the endpoint and the key and ends the receiver, also after Ctrl-C.
func (d *demo) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, undo := range slices.Backward(d.undo) {
		d.warnIf(undo(ctx))
	}
	if d.server != nil {
		d.server.Close(ctx)
	}
}

// warnIf warns of something that could not be removed.
func (d *demo) warnIf(err error) {
	if err != nil {
		d.Console.Warn("cleaning up: %s", terminal.Printable(err.Error()))
	}
}

// step begins a numbered step and names the command that does the same.
func (d *demo) step(sentence, command string) {
	d.steps++
	d.Console.Say("\n%s", d.Console.Heading(fmt.Sprintf("%d. %s", d.steps, sentence)))
	d.Console.Say("   $ %s", command)
}
