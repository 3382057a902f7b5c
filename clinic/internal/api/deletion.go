package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/erasure"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// Deletion is a patient's request to be forgotten.
type Deletion struct {
	ID          uuid.UUID      `json:"id"`
	PatientID   uuid.UUID      `json:"patient_id"`
	Status      string         `json:"status" enum:"waiting,needs_attention,completed" doc:"The patient is anonymized at once. waiting: for connected products; needs_attention: one did not take it, and people have to tell it; completed: all acknowledged"`
	Peers       []DeletionPeer `json:"peers" nullable:"false"`
	RequestedAt time.Time      `json:"requested_at"`
	CompletedAt *time.Time     `json:"completed_at"`
}

// DeletionPeer is a connected product that was asked to forget the patient.
type DeletionPeer struct {
	Product        string     `json:"product"`
	Status         string     `json:"status" enum:"pending,acknowledged,failed" doc:"failed: it did not take the event for a day, or is paused or disconnected. It is still sent the event when it is enabled or answers again; else somebody retries it, or people have to tell it"`
	AcknowledgedAt *time.Time `json:"acknowledged_at"`
	AcknowledgedBy *uuid.UUID `json:"acknowledged_by" doc:"The user who noted that the product was told by other means; null: it took the event"`
	Note           *string    `json:"note"`
}

type deletionOutput struct{ Body Deletion }

func toDeletionOutput(d erasure.Request) *deletionOutput { return &deletionOutput{toDeletion(d)} }

func toDeletion(d erasure.Request) Deletion {
	return Deletion{
		ID: d.ID, PatientID: d.PatientID, Status: d.Status, RequestedAt: d.RequestedAt.UTC(), CompletedAt: clampOptionalTime(d.CompletedAt),
		Peers: rest.Map(d.Peers, func(p dbgen.DeletionPeer) DeletionPeer {
			return DeletionPeer{p.Product, p.Status, clampOptionalTime(p.AcknowledgedAt), p.AcknowledgedBy, p.Note}
		}),
	}
}

func (a *API) requestDeletion(ctx context.Context, in *rest.IDParam) (*deletionOutput, error) {
	at, who, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	done, err := a.erasure.ErasePatient(ctx, at, in.ID, who.UserID)
	return toDeletionOutput(done), err
}

type deletionsInput struct {
	rest.PageParams
	Status string `query:"status" enum:"waiting,needs_attention,completed" doc:"Absent: any. As the clinic last saw it: it looks every five minutes"`
}

// listDeletions shows which requests wait, and which need people.
func (a *API) listDeletions(ctx context.Context, in *deletionsInput) (*struct{ Body rest.Page[Deletion] }, error) {
	at, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	module.RequireAudit(ctx)
	list, total, err := a.erasure.ListRequests(ctx, at, in.Status, in.PerPage, in.Offset())
	return &struct{ Body rest.Page[Deletion] }{rest.NewPage(rest.Map(list, toDeletion), total, in.PageParams)}, err
}

func (a *API) getDeletion(ctx context.Context, in *rest.IDParam) (*deletionOutput, error) {
	at, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	found, err := a.erasure.RefreshRequest(ctx, at, in.ID)
	if err == nil {
		module.SetSubject(ctx, found.PatientID.String())
	}
	return toDeletionOutput(found), err
}

type acknowledgeFields struct {
	Note rest.Optional[string] `json:"note,omitempty" doc:"How the product was told"`
}

type acknowledgeInput struct {
	rest.IDParam
	Product string             `path:"product" maxLength:"60"`
	Body    *acknowledgeFields `nameHint:"AcknowledgeDeletion" required:"false"`
}

// acknowledgeDeletion notes that people told a product by other means.
func (a *API) acknowledgeDeletion(ctx context.Context, in *acknowledgeInput) (*deletionOutput, error) {
	at, who, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	note := ""
	if in.Body != nil {
		note = redactInput(in.Body.Note.Value)
	}
	var wrong rest.FieldErrors
	wrong.CheckLength(note, "body.note", 0, 500)
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	done, err := a.erasure.Acknowledge(ctx, at, in.ID, in.Product, note, who.UserID)
	if err == nil {
		module.SetSubject(ctx, done.PatientID.String())
	}
	return toDeletionOutput(done), err
}
