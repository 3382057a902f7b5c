package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/events"
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
	peers, err := t.host.Peers.List(ctx, at.Clinic, at.Env)
	if err != nil {
		return dbgen.DeletionRequest{}, err
	}
	id := NewID()
	event, err := t.tellDeleted(ctx, at, p, id)
	if err != nil {
		return dbgen.DeletionRequest{}, err
	}
	made, err := t.InsertDeletionRequest(ctx, dbgen.InsertDeletionRequestParams{
		ClinicID: at.Clinic, Env: at.Env, ID: id, PatientID: patient, EventID: event, RequestedBy: &by, RequestedAt: t.now,
	})
	if err != nil {
		return made, err
	}
	for _, peer := range peers {
		if peer.Status == "inactive" && !peer.Paused {
			continue // it was disconnected
		}
		err := t.InsertDeletionPeer(ctx, dbgen.InsertDeletionPeerParams{ClinicID: at.Clinic, Env: at.Env, RequestID: id, Product: peer.Product, IntegrationID: peer.ID})
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// tellDeleted forgets a patient here, and publishes that. The peers get what they may know
// the patient by, but no number that is a relative's too; what else they went by is for
// the hub's log only.
func (t *Tx) tellDeleted(ctx context.Context, at Scope, p dbgen.Patient, request uuid.UUID) (event string, err error) {
	was, err := t.traces(ctx, at, p)
	if err != nil {
		return "", err
	}
	event, err = t.publish(ctx, at, events.TypePatientDeleted, struct {
		PatientID uuid.UUID `json:"patient_id"`
		Name      string    `json:"name"`
		Phone     *string   `json:"phone"`
		Email     *string   `json:"email"`
		Shared    bool      `json:"phone_shared"` // somebody else has the number too
		Phones    []string  `json:"phones"`       // earlier ones, and those that were linked
		Family    bool      `json:"email_shared"` // somebody else has the address too
		RequestID uuid.UUID `json:"deletion_request_id"`
		Requested time.Time `json:"requested_at"`
	}{p.ID, p.Name, p.Phone, p.Email, was.sharedPhone(p.Phone), was.others(p.Phone), was.sharedEmail(p.Email), request, t.now.UTC().Truncate(time.Second)})
	if err != nil {
		return "", err
	}
	if err := t.host.Erasures.AddTraces(ctx, t.Raw, hub.Event{ID: event, TenantID: at.Clinic, Environment: at.Env}, was.log()); err != nil {
		return "", err
	}
	return event, t.forget(ctx, at, p, was)
}

// forget removes who a patient was from everything that stays.
func (t *Tx) forget(ctx context.Context, at Scope, p dbgen.Patient, was *traces) error {
	if err := t.forgetInbox(ctx, at, p, was); err != nil {
		return err
	}
	if err := t.forgetTexts(ctx, at, p.ID, was); err != nil {
		return err
	}
	if err := t.leaveTombstones(ctx, at, p, was); err != nil {
		return err
	}
	return t.AnonymizePatient(ctx, dbgen.AnonymizePatientParams{ClinicID: at.Clinic, Env: at.Env, ID: p.ID, AnonymizedAt: &t.now})
}

// forgetInbox removes the entries about a patient.
func (t *Tx) forgetInbox(ctx context.Context, at Scope, p dbgen.Patient, was *traces) error {
	ids, err := t.forgetLinkings(ctx, at, p, was)
	if err != nil {
		return err
	}
	about := dbgen.InboxAboutParams{ClinicID: at.Clinic, Env: at.Env, PatientID: p.ID, PhoneKeys: was.keys(), Emails: [][]byte{}}
	for _, email := range was.emails {
		about.Emails = append(about.Emails, t.inboxEmail(at, email))
	}
	entries, err := t.InboxAbout(ctx, about)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Status == Open && entry.MeantFor == nil {
			n, err := t.reread(entry)
			if err != nil {
				return err
			}
			if !was.about(&n, entry.PhoneKey) {
				continue
			}
		}
		ids = append(ids, entry.ID)
	}
	return t.ForgetInbox(ctx, dbgen.ForgetInboxParams{ClinicID: at.Clinic, Env: at.Env, PatientID: p.ID, Ids: ids})
}

// forgetLinkings ends what is on its way to a patient, and gives the entries: somebody
// said that they are the patient's, and their tickets are too.
func (t *Tx) forgetLinkings(ctx context.Context, at Scope, p dbgen.Patient, was *traces) (ids []uuid.UUID, err error) {
	linkings, err := t.ForgetLinkings(ctx, at.Clinic, at.Env, p.ID)
	if err != nil {
		return nil, err
	}
	for _, l := range linkings {
		entries, err := t.OnTheWay(ctx, dbgen.OnTheWayParams{
			ClinicID: at.Clinic, Env: at.Env, PhoneKey: l.PhoneKey, Source: l.Source, ExternalID: l.ExternalID, AfterAt: l.AfterAt, AfterID: l.AfterID,
		})
		if err != nil {
			return nil, err
		}
		if err := t.LeaveTurns(ctx, dbgen.LeaveTurnsParams{
			ClinicID: at.Clinic, Env: at.Env, PatientID: &p.ID, PhoneKey: l.PhoneKey, Source: l.Source, ExternalID: l.ExternalID,
		}); err != nil {
			return nil, err
		}
		for _, entry := range entries {
			ids = append(ids, entry.ID)
			if entry.ExternalID == nil {
				continue
			}
			if ticket, ok := strings.CutPrefix(*entry.ExternalID, "ticket "); ok {
				was.tickets = append(was.tickets, t.tombstone(at, tombTicket, entry.Source, ticket))
			}
		}
	}
	return ids, nil
}

// Deletion gives a request as it stands now.
func (s *Store) Deletion(ctx context.Context, at Scope, id uuid.UUID) (Deletion, error) {
	request, err := s.DeletionRequest(ctx, at.Clinic, at.Env, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Deletion{}, missing("Deletion request")
	}
	if err != nil {
		return Deletion{}, err
	}
	peers, err := s.DeletionPeers(ctx, at.Clinic, at.Env, id)
	if err != nil {
		return Deletion{}, err
	}
	d := Deletion{request, peers}
	if d.Status == deletionCompleted {
		return d, nil
	}
	sent, err := s.host.Deliveries.ForEvents(ctx, []hub.Event{announced(request)})
	if err != nil {
		return Deletion{}, err
	}
	return s.follow(ctx, d, sent[0])
}

// Deletions gives a page of requests, the newest first, as they were when somebody last
// looked after them: status "" is any. It tells how many there are in all.
func (s *Store) Deletions(ctx context.Context, at Scope, status string, limit, offset int) (list []Deletion, total int, err error) {
	rows, err := s.ListDeletions(ctx, dbgen.ListDeletionsParams{ClinicID: at.Clinic, Env: at.Env, Status: status, RowLimit: limit, RowOffset: offset})
	if err != nil {
		return nil, 0, err
	}
	if total, err = s.CountDeletions(ctx, dbgen.CountDeletionsParams{ClinicID: at.Clinic, Env: at.Env, Status: status, Most: CountedAtMost}); err != nil {
		return nil, 0, err
	}
	peers, err := s.peersOf(ctx, rows)
	for _, r := range rows {
		list = append(list, Deletion{r, peers[r.ID]})
	}
	return list, total, err
}

// AcknowledgeDeletion records that people told a product by other means, and how.
// Where it acknowledged already nothing changes. [hub.ErrNotFound]; [hub.ErrConflict]
// while the event is being sent: with the last acknowledgement the hub erases it, one that
// is parked too, and who was not told by then never would be.
func (s *Store) AcknowledgeDeletion(ctx context.Context, at Scope, id uuid.UUID, product, note string, by uuid.UUID) (d Deletion, err error) {
	if d, err = s.Deletion(ctx, at, id); err != nil { // what came of the event meanwhile
		return d, err
	}
	sent, err := s.host.Deliveries.ForEvents(ctx, []hub.Event{announced(d.DeletionRequest)})
	if err != nil {
		return d, err
	}
	err = s.InTx(ctx, "acknowledging a deletion", func(tx *Tx) error {
		d.DeletionRequest, err = tx.LockDeletionRequest(ctx, at.Clinic, at.Env, id)
		if errors.Is(err, pgx.ErrNoRows) {
			return missing("Deletion request")
		}
		if err != nil {
			return err
		}
		peers, err := tx.DeletionPeers(ctx, at.Clinic, at.Env, id)
		if err != nil {
			return err
		}
		for _, peer := range peers {
			if peer.Product != product {
				continue
			}
			if peer.Status == peerPending && !parked(sent[0], peer.IntegrationID) {
				return hub.Errorf(hub.ErrConflict, "still_being_sent", "The event is being sent to this product; where it does not take it, this can be noted about a minute later.")
			}
			note := care.HideCPF(note)
			_, err := tx.SettleDeletionPeer(ctx, dbgen.SettleDeletionPeerParams{
				ClinicID: at.Clinic, Env: at.Env, RequestID: id, Product: product, Status: peerAcknowledged, AcknowledgedAt: &tx.now, AcknowledgedBy: &by, Note: &note,
			})
			if err != nil {
				return err
			}
			return tx.settleDeletion(ctx, &d)
		}
		return missing("Product")
	})
	return d, err
}
