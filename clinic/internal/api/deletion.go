package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// Deletion is a patient's request to be forgotten.
type Deletion struct {
	ID          uuid.UUID      `json:"id"`
	PatientID   uuid.UUID      `json:"patient_id"`
	Status      string         `json:"status" enum:"waiting,completed" doc:"The patient is anonymized at once; it waits for the connected products"`
	Peers       []DeletionPeer `json:"peers" nullable:"false"`
	RequestedAt time.Time      `json:"requested_at"`
	CompletedAt *time.Time     `json:"completed_at"`
}

// DeletionPeer is a connected product that was asked to forget the patient.
type DeletionPeer struct {
	Product        string     `json:"product"`
	Status         string     `json:"status" enum:"pending,acknowledged,failed" doc:"failed: it did not take the event, so people have to tell it"`
	AcknowledgedAt *time.Time `json:"acknowledged_at"`
}

type deletionOutput struct{ Body Deletion }

func deletionOf(d store.Deletion) *deletionOutput {
	return &deletionOutput{Deletion{
		ID: d.ID, PatientID: d.PatientID, Status: d.Status, RequestedAt: d.RequestedAt.UTC(), CompletedAt: maybeMoment(d.CompletedAt),
		Peers: rest.Map(d.Peers, func(p dbgen.DeletionPeer) DeletionPeer {
			return DeletionPeer{p.Product, p.Status, maybeMoment(p.AcknowledgedAt)}
		}),
	}}
}

func (a *API) requestDeletion(ctx context.Context, in *rest.ByID) (*deletionOutput, error) {
	at, who, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	done, err := a.store.RequestDeletion(ctx, at, in.ID, who.UserID)
	return deletionOf(done), err
}

func (a *API) getDeletion(ctx context.Context, in *rest.ByID) (*deletionOutput, error) {
	at, _, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	found, err := a.store.Deletion(ctx, at, in.ID)
	if err == nil {
		module.Concerns(ctx, found.PatientID.String())
	}
	return deletionOf(found), err
}
