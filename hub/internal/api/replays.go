package api

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
)

type createReplayInput struct {
	Body struct {
		Filter query.Filter `json:"filter" doc:"Which deliveries; at least one field. Those still pending are left alone"`
		DryRun bool         `json:"dry_run,omitempty" doc:"Only count what would be replayed"`
	} `nameHint:"ReplayDraft"`
}

// ReplayCount is the answer to a dry run.
type ReplayCount struct {
	Count int64 `json:"count" doc:"How many deliveries match, exactly"`
}

// createReplayOutput has a ReplayCount (200) or a maintain.Replay (202).
type createReplayOutput struct {
	Status int
	Body   any
}

func (a *API) createReplay(ctx context.Context, in *createReplayInput) (*createReplayOutput, error) {
	filter := in.Body.Filter
	if filter == (query.Filter{}) {
		return nil, hub.Invalid("body.filter", "must have at least one field: an empty filter would replay everything")
	}
	if err := filter.Check("body.filter"); err != nil {
		return nil, err
	}
	if in.Body.DryRun {
		count, err := a.deps.Replays.Count(ctx, filter)
		if err != nil {
			return nil, err
		}
		return &createReplayOutput{http.StatusOK, ReplayCount{count}}, nil
	}
	replay, err := a.deps.Replays.Create(ctx, filter, requestInfoOf(ctx).operator.Label())
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, replay.ID, uuid.Nil)
	return &createReplayOutput{http.StatusAccepted, replay}, nil
}

func (a *API) listReplays(ctx context.Context, in *struct{ httpx.PageQuery }) (*struct{ Body httpx.Page[maintain.Replay] }, error) {
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	replays, err := a.deps.Replays.List(ctx, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := httpx.PageOf(replays, in.Limit, func(last maintain.Replay) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[maintain.Replay] }{page}, nil
}

func (a *API) getReplay(ctx context.Context, in *idPath) (*struct{ Body maintain.Replay }, error) {
	replay, err := a.deps.Replays.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &struct{ Body maintain.Replay }{replay}, nil
}

func (a *API) cancelReplay(ctx context.Context, in *idPath) (*struct{ Body maintain.Replay }, error) {
	replay, err := a.deps.Replays.Cancel(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &struct{ Body maintain.Replay }{replay}, nil
}
