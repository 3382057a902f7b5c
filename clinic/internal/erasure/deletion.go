package erasure

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
)

// Request is a deletion request with the state of each connected product.
type Request struct {
	Row   store.DeletionRequest
	Peers []store.DeletionPeer
}

// Statuses of deletion requests.
const (
	requestWaiting        = "waiting"         // for peers
	requestNeedsAttention = "needs_attention" // a user has to inform a peer by other means
	requestCompleted      = "completed"       // all peers have acknowledged
)

// deletionEventRef returns an event with the fields that identify the event of a request.
func deletionEventRef(r store.DeletionRequest) hub.Event {
	return hub.Event{ID: r.EventID, TenantID: r.ClinicID, Environment: r.Env}
}

// ErasePatient erases a patient at once, and publishes the event by which the connected
// products do the same. If the patient is erased already, it returns the earlier request.
// user requests it.
func (s *Service) ErasePatient(ctx context.Context, scope store.Scope, patient, user uuid.UUID) (Request, error) {
	var request store.DeletionRequest
	err := s.store.InTx(ctx, "erasing a patient", func(tx *store.Tx) (err error) {
		request, err = s.erasePatient(ctx, tx, scope, patient, user)
		return err
	})
	if err != nil {
		return Request{}, err
	}
	return s.RefreshRequest(ctx, scope, request.ID)
}

func (s *Service) erasePatient(ctx context.Context, tx *store.Tx, scope store.Scope, patient, user uuid.UUID) (store.DeletionRequest, error) {
	if err := tx.LockExports(ctx, scope); err != nil {
		return store.DeletionRequest{}, err
	}
	if err := tx.LockForErasure(ctx, scope); err != nil {
		return store.DeletionRequest{}, err
	}
	p, err := tx.LockPatient(ctx, scope.Clinic, scope.Env, patient)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.DeletionRequest{}, hub.NotFound("Patient")
	}
	if err != nil {
		return store.DeletionRequest{}, err
	}
	if p.Status == store.Anonymized {
		return tx.DeletionRequestByPatient(ctx, scope.Clinic, scope.Env, patient)
	}
	peers, err := s.host.Peers.List(ctx, scope.Clinic, scope.Env)
	if err != nil {
		return store.DeletionRequest{}, err
	}
	id := store.NewID()
	eventID, err := s.publishAndErase(ctx, tx, scope, p, id)
	if err != nil {
		return store.DeletionRequest{}, err
	}
	request, err := tx.InsertDeletionRequest(ctx, dbgen.InsertDeletionRequestParams{
		ClinicID: scope.Clinic, Env: scope.Env, ID: id, PatientID: patient, EventID: eventID, RequestedBy: &user, RequestedAt: tx.Now(),
	})
	if err != nil {
		return request, err
	}
	known, err := knownSince(ctx, tx, scope, p)
	if err != nil {
		return request, err
	}
	for _, peer := range peers {
		if err := insertPeer(ctx, tx, request, known, peer); err != nil {
			return request, err
		}
	}
	return request, nil
}

// knownSince returns when a patient, or one who was merged into the patient, was created.
func knownSince(ctx context.Context, tx *store.Tx, scope store.Scope, patient store.Patient) (time.Time, error) {
	known := patient.CreatedAt
	merged, err := tx.MergedIDs(ctx, scope.Clinic, scope.Env, patient.ID)
	for _, id := range merged { // nothing else is left of them
		if id.Version() != 7 {
			continue
		}
		if at := time.Unix(id.Time().UnixTime()); at.Before(known) {
			known = at
		}
	}
	return known, err
}

// insertPeer stores that a connected product has to erase a patient. A product whose connection
// has ended since the patient was known may have the patient's data too, but gets no event: a
// user has to inform it. Others never heard of the patient.
func insertPeer(ctx context.Context, tx *store.Tx, request store.DeletionRequest, known time.Time, peer module.Integration) error {
	switch {
	case peer.Status != "inactive" || peer.Paused:
		return tx.InsertDeletionPeer(ctx, dbgen.InsertDeletionPeerParams{
			ClinicID: request.ClinicID, Env: request.Env, RequestID: request.ID, Product: peer.Product, IntegrationID: peer.ID,
		})
	case peer.EndedAt.After(known):
		return tx.InsertDisconnectedPeer(ctx, dbgen.InsertDisconnectedPeerParams{
			ClinicID: request.ClinicID, Env: request.Env, RequestID: request.ID, Product: peer.Product, IntegrationID: peer.ID, DisconnectedAt: peer.EndedAt,
		})
	}
	return nil
}

// publishAndErase publishes patient.deleted and erases the patient. Peers learn the numbers
// and addresses by which they may know the patient, but no earlier number that another
// patient has too. With earlier numbers they learn names that the record had earlier, by which
// alone they can know whose such a number was. The hub alone gets the rest, to clear its log.
func (s *Service) publishAndErase(ctx context.Context, tx *store.Tx, scope store.Scope, p store.Patient, request uuid.UUID) (eventID string, err error) {
	identity, err := tx.ReadAndDeleteIdentity(ctx, scope, p)
	if err != nil {
		return "", err
	}
	phones := otherPhones(identity, p.Phone)
	eventID, err = tx.Publish(ctx, scope.Clinic, scope.Env, events.PatientDeleted{
		PatientID: p.ID.String(), Name: p.Name, Phone: p.Phone, Email: p.Email,
		PhoneShared: p.Phone != nil && identity.IsSharedPhone(*p.Phone), Phones: phones, Names: earlierNames(identity, phones),
		EmailShared: p.Email != nil && identity.IsSharedEmail(*p.Email), DeletionRequestID: request.String(), RequestedAt: tx.Now().UTC().Truncate(time.Second),
	})
	if err != nil {
		return "", err
	}
	if err := s.host.Erasures.AddTraces(ctx, tx.Raw, hub.Event{ID: eventID, TenantID: scope.Clinic, Environment: scope.Env}, logTraces(identity)); err != nil {
		return "", err
	}
	return eventID, s.erase(ctx, tx, scope, p, identity)
}

// earlierNames returns the names that the record had beside the present one, each once, the
// newest [events.MaxEarlierNames]; none without other numbers. A name that a user linked may be
// another person's, whom the products would erase.
func earlierNames(identity *store.PatientIdentity, otherPhones []string) []string {
	names := []string{}
	if len(otherPhones) == 0 {
		return names
	}
	known := map[string]bool{store.FoldName(identity.Names[0]): true}
	for _, name := range identity.OwnNames {
		if folded := store.FoldName(name); !known[folded] && len(names) < events.MaxEarlierNames {
			known[folded] = true
			names = append(names, name)
		}
	}
	return names
}

// otherPhones returns the numbers beside the present one that no other patient has.
func otherPhones(identity *store.PatientIdentity, present *string) []string {
	phones := []string{}
	for _, phone := range identity.Phones {
		if !identity.IsSharedPhone(phone) && (present == nil || care.PhoneKey(phone) != care.PhoneKey(*present)) {
			phones = append(phones, phone)
		}
	}
	return phones
}

// RefreshRequest returns a deletion request after updating it with the latest deliveries. It is a
// [hub.ErrNotFound] if there is none.
func (s *Service) RefreshRequest(ctx context.Context, scope store.Scope, id uuid.UUID) (Request, error) {
	row, err := s.store.DeletionRequest(ctx, scope.Clinic, scope.Env, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Request{}, hub.NotFound("Deletion request")
	}
	if err != nil {
		return Request{}, err
	}
	peers, err := s.store.DeletionPeers(ctx, scope.Clinic, scope.Env, id)
	if err != nil {
		return Request{}, err
	}
	request := Request{row, peers}
	if request.Row.Status == requestCompleted {
		return request, nil
	}
	deliveries, err := s.host.Deliveries.ForEvents(ctx, []hub.Event{deletionEventRef(row)})
	if err != nil {
		return Request{}, err
	}
	return s.updateFromDeliveries(ctx, request, deliveries[0])
}

// ListRequests returns a page of the deletion requests with a status ("" = any), newest first,
// and the total, counted up to [store.MaxCount]. It first updates those on the page, and the
// newest waiting ones, with the latest deliveries.
func (s *Service) ListRequests(ctx context.Context, scope store.Scope, status string, limit, offset int) (requests []Request, total int, err error) {
	readPage := func(status string, limit, offset int) ([]store.DeletionRequest, error) {
		return s.store.DeletionRequestsPage(ctx, dbgen.DeletionRequestsPageParams{ClinicID: scope.Clinic, Env: scope.Env, Status: status, RowLimit: limit, RowOffset: offset})
	}
	waiting, err := readPage(requestWaiting, maxRefreshed, 0)
	if err == nil {
		_, err = s.updateRequests(ctx, waiting)
	}
	if err != nil {
		return nil, 0, err
	}
	rows, err := readPage(status, limit, offset)
	if err != nil {
		return nil, 0, err
	}
	hasChanged, err := s.updateRequests(ctx, rows)
	if err == nil && hasChanged {
		rows, err = readPage(status, limit, offset)
	}
	if err != nil {
		return nil, 0, err
	}
	if total, err = s.store.CountDeletionRequests(ctx, dbgen.CountDeletionRequestsParams{ClinicID: scope.Clinic, Env: scope.Env, Status: status, MaxCount: store.MaxCount}); err != nil {
		return nil, 0, err
	}
	peers, err := s.peersByRequest(ctx, rows)
	for _, row := range rows {
		requests = append(requests, Request{row, peers[row.ID]})
	}
	return requests, total, err
}

// maxRefreshed bounds how many waiting requests a list updates: those of the last days.
const maxRefreshed = 100

// Acknowledge records that a user informed a product by other means, with a note how. An
// earlier acknowledgement stays. Errors: [hub.ErrNotFound]; [hub.ErrConflict] while the
// event is being sent. The last acknowledgement has the hub erase the event, even a parked
// one: a product that had not received it by then never would.
func (s *Service) Acknowledge(ctx context.Context, scope store.Scope, id uuid.UUID, product, note string, user uuid.UUID) (request Request, err error) {
	if request, err = s.RefreshRequest(ctx, scope, id); err != nil {
		return request, err
	}
	deliveries, err := s.host.Deliveries.ForEvents(ctx, []hub.Event{deletionEventRef(request.Row)})
	if err != nil {
		return request, err
	}
	err = s.store.InTx(ctx, "acknowledging a deletion", func(tx *store.Tx) error {
		request.Row, err = tx.LockDeletionRequest(ctx, scope.Clinic, scope.Env, id)
		if errors.Is(err, pgx.ErrNoRows) {
			return hub.NotFound("Deletion request")
		}
		if err != nil {
			return err
		}
		peers, err := tx.DeletionPeers(ctx, scope.Clinic, scope.Env, id)
		if err != nil {
			return err
		}
		for _, peer := range peers {
			if peer.Product != product {
				continue
			}
			if peer.Status == peerPending && !isParked(deliveries[0], peer.IntegrationID) {
				return hub.Errorf(hub.ErrConflict, "still_being_sent", "The event is being sent to this product; where it does not take it, this can be noted about a minute later.")
			}
			now, note := tx.Now(), care.RedactCPFs(note)
			_, err := tx.UpdateDeletionPeer(ctx, dbgen.UpdateDeletionPeerParams{
				ClinicID: scope.Clinic, Env: scope.Env, RequestID: id, Product: product, Status: peerAcknowledged, AcknowledgedAt: &now, AcknowledgedBy: &user, Note: &note,
			})
			if err != nil {
				return err
			}
			return s.updateStatus(ctx, tx, &request)
		}
		return hub.NotFound("Product")
	})
	return request, err
}
