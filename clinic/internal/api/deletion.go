package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/erasure"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// Deletion is a request to erase a patient.
type Deletion struct {
	ID          uuid.UUID      `json:"id" doc:"Names the request"`
	PatientID   uuid.UUID      `json:"patient_id" doc:"Patient it belongs to"`
	Status      string         `json:"status" enum:"waiting,needs_attention,completed" doc:"The patient is anonymized at once. waiting: for connected products; needs_attention: a product did not accept the event and has to be informed by other means; completed: all acknowledged"`
	Peers       []DeletionPeer `json:"peers" nullable:"false" doc:"Connected products that were asked to erase too, and those that were connected earlier and may have the patient"`
	RequestedAt time.Time      `json:"requested_at" doc:"When it was asked for"`
	CompletedAt *time.Time     `json:"completed_at" doc:"When every product had acknowledged; null: not yet"`
}

// DeletionPeer is a connected product that has to erase the patient too.
type DeletionPeer struct {
	Product        string     `json:"product" doc:"Name of the other side"`
	Status         string     `json:"status" enum:"pending,acknowledged,failed" doc:"failed: it did not accept the event for a day, or is paused or disconnected. The event is still sent when a paused one is enabled, or when it responds again; otherwise retry it, or inform the product by other means. With disconnected_at nothing is sent, not even after it is connected again"`
	DisconnectedAt *time.Time `json:"disconnected_at" doc:"When its connection had ended, before the request: no event was or will be sent to it, so inform it by other means. null: it was connected"`
	AcknowledgedAt *time.Time `json:"acknowledged_at" doc:"When it accepted the event (2xx); it may still have to find the person. null: not yet"`
	AcknowledgedBy *uuid.UUID `json:"acknowledged_by" doc:"The user who recorded that the product was informed by other means; null: it accepted the event"`
	Note           *string    `json:"note" doc:"The user's note about it; null: none"`
}

type deletionOutput struct{ Body Deletion }

func toDeletionOutput(request erasure.Request) *deletionOutput {
	return &deletionOutput{toDeletion(request)}
}

func toDeletion(request erasure.Request) Deletion {
	return Deletion{
		ID: request.Row.ID, PatientID: request.Row.PatientID, Status: request.Row.Status, RequestedAt: request.Row.RequestedAt.UTC(),
		CompletedAt: clampOptionalTime(request.Row.CompletedAt),
		Peers: rest.Map(request.Peers, func(peer store.DeletionPeer) DeletionPeer {
			return DeletionPeer{peer.Product, peer.Status, clampOptionalTime(peer.DisconnectedAt), clampOptionalTime(peer.AcknowledgedAt), peer.AcknowledgedBy, peer.Note}
		}),
	}
}

func (a *API) requestDeletion(ctx context.Context, in *rest.IDParam) (*deletionOutput, error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	request, err := a.erasure.ErasePatient(ctx, scope, in.ID, caller.UserID)
	return toDeletionOutput(request), err
}

type deletionsInput struct {
	rest.PageParams
	Status string `query:"status" enum:"waiting,needs_attention,completed" doc:"Absent: any"`
}

func (a *API) listDeletions(ctx context.Context, in *deletionsInput) (*struct{ Body rest.Page[Deletion] }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	module.RequireAudit(ctx)
	requests, total, err := a.erasure.ListRequests(ctx, scope, in.Status, in.PerPage, in.Offset())
	return &struct{ Body rest.Page[Deletion] }{rest.NewPage(rest.Map(requests, toDeletion), total, in.PageParams)}, err
}

func (a *API) getDeletion(ctx context.Context, in *rest.IDParam) (*deletionOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	request, err := a.erasure.RefreshRequest(ctx, scope, in.ID)
	if err == nil {
		module.SetSubject(ctx, request.Row.PatientID.String())
	}
	return toDeletionOutput(request), err
}

type acknowledgeFields struct {
	Note rest.Optional[string] `json:"note,omitempty" maxLength:"500" doc:"How the product was informed"`
}

type acknowledgeInput struct {
	rest.IDParam
	Product string             `path:"product" maxLength:"60" doc:"Name of the other side, as in peers"`
	Body    *acknowledgeFields `nameHint:"AcknowledgeDeletion" required:"false"`
}

// acknowledgeDeletion records that a product was informed by other means.
func (a *API) acknowledgeDeletion(ctx context.Context, in *acknowledgeInput) (*deletionOutput, error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	note := ""
	if in.Body != nil {
		note = redactInput(in.Body.Note.Value)
	}
	var errs rest.FieldErrors
	errs.CheckLength(note, "body.note", 0, 500)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	request, err := a.erasure.Acknowledge(ctx, scope, in.ID, in.Product, note, caller.UserID)
	if err == nil {
		module.SetSubject(ctx, request.Row.PatientID.String())
	}
	return toDeletionOutput(request), err
}
