package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
)

// Statuses of a peer that was asked to forget a patient.
const (
	peerPending      = "pending"
	peerAcknowledged = "acknowledged"
	peerFailed       = "failed" // it did not take the event: people have to tell it
)

// Deletion is a request to be forgotten, and where the connected products stand.
type Deletion struct {
	dbgen.DeletionRequest
	Peers []dbgen.DeletionPeer
}

// RequestDeletion forgets who a patient was, keeps the records, which the law wants
// kept, and asks the connected products to forget too. Asking again gives the same
// request.
func (s *Store) RequestDeletion(ctx context.Context, at Scope, patient, by uuid.UUID) (Deletion, error) {
	var made dbgen.DeletionRequest
	err := s.InTx(ctx, "forgetting a patient", func(tx *Tx) (err error) {
		made, err = tx.requestDeletion(ctx, at, patient, by)
		return err
	})
	if err != nil {
		return Deletion{}, err
	}
	return s.Deletion(ctx, at, made.ID)
}

func (t *Tx) requestDeletion(ctx context.Context, at Scope, patient, by uuid.UUID) (dbgen.DeletionRequest, error) {
	p, err := t.LockPatient(ctx, at.Clinic, at.Env, patient)
	if errors.Is(err, pgx.ErrNoRows) {
		return dbgen.DeletionRequest{}, missing("Patient")
	}
	if err != nil {
		return dbgen.DeletionRequest{}, err
	}
	if p.Status == Anonymized {
		return t.DeletionRequestOf(ctx, at.Clinic, at.Env, patient)
	}
	peers, err := t.kit.Peers.List(ctx, at.Clinic, at.Env)
	if err != nil {
		return dbgen.DeletionRequest{}, err
	}
	id := NewID()
	event, err := t.publish(ctx, at, "patient.deleted", struct {
		PatientID uuid.UUID `json:"patient_id"`
		Phone     *string   `json:"phone"`
		Email     *string   `json:"email"`
		RequestID uuid.UUID `json:"deletion_request_id"`
		Requested time.Time `json:"requested_at"`
	}{patient, p.Phone, p.Email, id, t.now.UTC().Truncate(time.Second)})
	if err != nil {
		return dbgen.DeletionRequest{}, err
	}
	if err := t.forget(ctx, at, p); err != nil {
		return dbgen.DeletionRequest{}, err
	}
	made, err := t.InsertDeletionRequest(ctx, dbgen.InsertDeletionRequestParams{
		ClinicID: at.Clinic, Env: at.Env, ID: id, PatientID: patient, EventID: event, RequestedBy: &by, RequestedAt: t.now,
	})
	if err != nil {
		return made, err
	}
	for _, peer := range peers {
		if peer.Status == "inactive" {
			continue
		}
		err := t.InsertDeletionPeer(ctx, dbgen.InsertDeletionPeerParams{ClinicID: at.Clinic, Env: at.Env, RequestID: id, Product: peer.Product, IntegrationID: peer.ID})
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// forget removes who a patient was from everything that stays.
func (t *Tx) forget(ctx context.Context, at Scope, p dbgen.Patient) error {
	keys, err := t.ForgetPhones(ctx, at.Clinic, at.Env, p.ID)
	if err != nil {
		return err
	}
	if p.Phone != nil {
		keys = append(keys, care.PhoneKey(*p.Phone))
	}
	if err := t.ForgetInbox(ctx, dbgen.ForgetInboxParams{ClinicID: at.Clinic, Env: at.Env, PatientID: p.ID, PhoneKeys: keys}); err != nil {
		return err
	}
	if p.Email != nil {
		if err := t.kit.Mail.Forget(ctx, t.Raw, *p.Email); err != nil {
			return err
		}
	}
	if err := t.LockRecords(ctx, dbgen.LockRecordsParams{Now: &t.now, ClinicID: at.Clinic, Env: at.Env, PatientID: p.ID}); err != nil {
		return err
	}
	for _, forget := range []func(context.Context, uuid.UUID, hub.Environment, uuid.UUID) error{
		t.ForgetInteractions, t.ForgetAppointments, t.ForgetPayments, t.ForgetTickets,
	} {
		if err := forget(ctx, at.Clinic, at.Env, p.ID); err != nil {
			return err
		}
	}
	return t.AnonymizePatient(ctx, dbgen.AnonymizePatientParams{ClinicID: at.Clinic, Env: at.Env, ID: p.ID, AnonymizedAt: &t.now})
}

// Deletion gives a request as it stands now: a peer's 2xx on patient.deleted is its
// acknowledgement.
func (s *Store) Deletion(ctx context.Context, at Scope, id uuid.UUID) (Deletion, error) {
	request, err := s.DeletionRequest(ctx, at.Clinic, at.Env, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Deletion{}, missing("Deletion request")
	}
	if err != nil {
		return Deletion{}, err
	}
	peers, err := s.DeletionPeers(ctx, at.Clinic, at.Env, id)
	if err != nil || request.Status != deletionWaiting {
		return Deletion{request, peers}, err
	}
	if err := s.follow(ctx, request, peers); err != nil {
		return Deletion{}, err
	}
	if request, err = s.DeletionRequest(ctx, at.Clinic, at.Env, id); err != nil {
		return Deletion{}, err
	}
	peers, err = s.DeletionPeers(ctx, at.Clinic, at.Env, id)
	return Deletion{request, peers}, err
}

const deletionWaiting = "waiting"

// follow writes down what the peers answered meanwhile.
func (s *Store) follow(ctx context.Context, r dbgen.DeletionRequest, peers []dbgen.DeletionPeer) error {
	sent, err := s.kit.Sent.Of(ctx, r.ClinicID, r.Env, r.EventID)
	if err != nil {
		return err
	}
	return s.InTx(ctx, "following a deletion", func(tx *Tx) error {
		for _, peer := range peers {
			status := answered(sent, peer.IntegrationID)
			if status == peerPending {
				continue
			}
			settle := dbgen.SettleDeletionPeerParams{ClinicID: r.ClinicID, Env: r.Env, RequestID: r.ID, Product: peer.Product, Status: status}
			if status == peerAcknowledged {
				settle.AcknowledgedAt = &tx.now
			}
			if err := tx.SettleDeletionPeer(ctx, settle); err != nil {
				return err
			}
		}
		return tx.CompleteDeletion(ctx, dbgen.CompleteDeletionParams{ClinicID: r.ClinicID, Env: r.Env, ID: r.ID, CompletedAt: &tx.now})
	})
}

// answered is what a peer did with the event. One that was sent nothing does not want
// to hear of deletions.
func answered(sent []module.Delivery, integration uuid.UUID) string {
	for _, d := range sent {
		if d.IntegrationID != integration {
			continue
		}
		switch d.Status {
		case "delivered":
			return peerAcknowledged
		case "failed":
			return peerFailed
		}
		return peerPending
	}
	return peerFailed
}

// FollowDeletions brings every request that waits for peers up to date.
func (s *Store) FollowDeletions(ctx context.Context) error {
	list, err := s.WaitingDeletions(ctx)
	if err != nil {
		return err
	}
	for _, r := range list {
		if _, err := s.Deletion(ctx, Scope{r.ClinicID, r.Env}, r.ID); err != nil {
			return err
		}
	}
	return nil
}
