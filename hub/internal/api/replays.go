package api

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/registry"
)

type createReplayInput struct {
	Body struct {
		Filter query.Filter `json:"filter" doc:"Which deliveries; at least one field. Those still pending are left alone"`
		DryRun bool         `json:"dry_run,omitempty" doc:"Only count what would be sent"`
	} `nameHint:"ReplayDraft"`
}

// ReplayCount is the answer to a dry run.
type ReplayCount struct {
	Count int64 `json:"count" doc:"How many would be sent now, exactly: deliveries to disabled or deleted endpoints do not count. Payloads are not looked at: erased ones count, and fail"`
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
	filter, err := requestInfoOf(ctx).narrowFilter(filter)
	if err != nil {
		return nil, err
	}
	if in.Body.DryRun {
		count, err := a.deps.Replays.Count(ctx, filter, requestInfoOf(ctx).creator().Owner)
		if err != nil {
			return nil, err
		}
		return &createReplayOutput{http.StatusOK, ReplayCount{count}}, nil
	}
	replay, err := a.deps.Replays.Create(ctx, filter, requestInfoOf(ctx).creator())
	if err != nil {
		return nil, err
	}
	setAuditReplay(ctx, replay)
	return &createReplayOutput{http.StatusAccepted, replay}, nil
}

// setAuditReplay makes the audit log record a replay, with the tenant that it is limited to.
func setAuditReplay(ctx context.Context, replay maintain.Replay) {
	tenant := uuid.Nil
	if replay.TenantID != nil {
		tenant = *replay.TenantID
	}
	setAuditResource(ctx, replay.ID, tenant)
}

type recoverEndpointInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the endpoint"`
	Body struct {
		Since      time.Time  `json:"since" doc:"Events accepted at this time or later, as far as the log keeps them" example:"2026-01-02T03:04:05Z"`
		Until      *time.Time `json:"until,omitempty" doc:"Events accepted before this time; absent: now"`
		EventTypes []string   `json:"event_types,omitempty" minItems:"1" maxItems:"100" nullable:"false" example:"[\"appointment.*\"]" doc:"*, a prefix such as appointment.*, or exact types; of those that the endpoint subscribed to. Absent: all of these"`
		DryRun     bool       `json:"dry_run,omitempty" doc:"Only count what would be sent"`
	} `nameHint:"EndpointRecovery"`
}

func (a *API) recoverEndpoint(ctx context.Context, in *recoverEndpointInput) (*createReplayOutput, error) {
	endpoint, err := a.deps.Endpoints.Get(ctx, requestInfoOf(ctx).accessFilter(), in.ID)
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, endpoint.ID, endpoint.TenantID)
	if err := query.CheckTime("body.since", &in.Body.Since); err != nil {
		return nil, err
	}
	if err := query.CheckTime("body.until", in.Body.Until); err != nil {
		return nil, err
	}
	if in.Body.Until != nil && !in.Body.Until.After(in.Body.Since) {
		return nil, hub.Invalid("body.until", "must be later than since")
	}
	if err := registry.CheckEventTypes("body.event_types", in.Body.EventTypes); err != nil {
		return nil, err
	}
	recovery := maintain.Recovery{EndpointID: endpoint.ID, Since: in.Body.Since, Until: in.Body.Until, EventTypes: in.Body.EventTypes}
	if in.Body.DryRun {
		count, err := a.deps.Replays.CountRecovery(ctx, recovery, requestInfoOf(ctx).creator().Owner)
		if err != nil {
			return nil, err
		}
		return &createReplayOutput{http.StatusOK, ReplayCount{count}}, nil
	}
	replay, err := a.deps.Replays.CreateRecovery(ctx, recovery, requestInfoOf(ctx).creator())
	if err != nil {
		return nil, err
	}
	return &createReplayOutput{http.StatusAccepted, replay}, nil
}

type listReplaysInput struct {
	httpx.PageQuery
	OwnerQuery
}

func (a *API) listReplays(ctx context.Context, in *listReplaysInput) (*struct{ Body httpx.Page[maintain.Replay] }, error) {
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	owner, err := in.owner(ctx)
	if err != nil {
		return nil, err
	}
	list := a.deps.Replays.ListAbout
	if requestInfoOf(ctx).key != nil {
		list = a.deps.Replays.List // not what operators started
	}
	replays, err := list(ctx, owner, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := httpx.PageOf(replays, in.Limit, func(last maintain.Replay) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[maintain.Replay] }{page}, nil
}

func (a *API) getReplay(ctx context.Context, in *idPath) (*struct{ Body maintain.Replay }, error) {
	replay, err := a.deps.Replays.Get(ctx, in.ID, requestInfoOf(ctx).owner())
	if err != nil {
		return nil, err
	}
	return &struct{ Body maintain.Replay }{replay}, nil
}

func (a *API) cancelReplay(ctx context.Context, in *idPath) (*struct{ Body maintain.Replay }, error) {
	replay, err := a.deps.Replays.Cancel(ctx, in.ID, requestInfoOf(ctx).owner())
	if err != nil {
		return nil, err
	}
	setAuditReplay(ctx, replay)
	return &struct{ Body maintain.Replay }{replay}, nil
}
