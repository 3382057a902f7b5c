package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/module/tx"
)

// ContinueLinking is a run of [LinkingJob]: it settles more entries of a linking for some
// seconds, and leaves the rest to another run.
func (s *Service) ContinueLinking(ctx context.Context, payload []byte) error {
	var run linkingRun
	if err := json.Unmarshal(payload, &run); err != nil {
		return fmt.Errorf("decoding the linking to continue: %w", err)
	}
	for deadline := time.Now().Add(linkingRunTime); ; {
		hasMore, err := s.advanceLinking(ctx, run)
		if err != nil || !hasMore {
			return err
		}
		if !time.Now().Before(deadline) {
			return s.store.InTx(ctx, "planning a linking", func(tx *store.Tx) error { return s.join(tx).enqueueLinking(ctx, run) })
		}
	}
}

// advanceLinking settles the next entries of a linking and stores its progress, in one
// transaction. more reports whether it has to be called again.
func (s *Service) advanceLinking(ctx context.Context, run linkingRun) (hasMore bool, err error) {
	err = s.store.InTx(ctx, "linking waiting entries", func(tx *store.Tx) error {
		if err := tx.BlockErasures(ctx, store.Scope{Clinic: run.Clinic, Env: run.Env}); err != nil {
			return err
		}
		linking, err := tx.Linking(ctx, run.Clinic, run.Env, run.ID)
		if errors.Is(err, pgx.ErrNoRows) { // it has ended
			hasMore = false
			return nil
		}
		if err == nil {
			hasMore, err = s.join(tx).advanceLinking(ctx, linking)
		}
		return err
	})
	return hasMore, err
}

func (t *transaction) advanceLinking(ctx context.Context, linking store.Linking) (hasMore bool, err error) {
	scope := store.Scope{Clinic: linking.ClinicID, Env: linking.Env}
	rows, err := t.waitingEntries(ctx, linking)
	if err != nil {
		return false, err
	}
	rows = firstStep(rows)
	if err := t.lockSubjects(ctx, scope, nil, rows); err != nil {
		return false, err
	}
	if err := t.lockPatientsOf(ctx, linking, rows); err != nil {
		return false, err
	}
	locked, err := t.LockLinking(ctx, linking.ClinicID, linking.Env, linking.ID)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // it has ended
		return false, nil
	case err != nil:
		return false, err
	case locked.PatientID != linking.PatientID: // merged into another patient
		return false, tx.ErrConflict
	}
	if locked.AfterID != linking.AfterID {
		return true, nil // another run has advanced it
	}
	if len(rows) == 0 {
		return t.endLinking(ctx, linking)
	}
	entries, err := t.lockEntries(ctx, scope, rows, uuid.Nil)
	if err != nil {
		return false, err
	}
	if _, _, err := t.settleAll(ctx, entries, linking); err != nil {
		return false, err
	}
	last := rows[len(rows)-1]
	if compareEntries(last.OccurredAt, linking.AfterAt, last.ID, linking.AfterID) <= 0 { // late entries from before the cursor
		return true, nil
	}
	return true, t.AdvanceLinking(ctx, dbgen.AdvanceLinkingParams{ClinicID: linking.ClinicID, Env: linking.Env, ID: linking.ID, AfterAt: last.OccurredAt, AfterID: last.ID})
}

// lockPatientsOf locks the patient of a linking, and those for whom rows are meant, by id. A
// patient who was merged into another meanwhile is a [tx.ErrConflict].
func (t *transaction) lockPatientsOf(ctx context.Context, linking store.Linking, rows []dbgen.WaitingEntriesRow) error {
	patients := []uuid.UUID{linking.PatientID}
	for _, row := range rows {
		if row.MeantFor != nil {
			patients = append(patients, *row.MeantFor)
		}
	}
	slices.SortFunc(patients, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for _, patient := range slices.Compact(patients) {
		_, err := t.LockPatientShared(ctx, linking.ClinicID, linking.Env, patient)
		if errors.Is(err, pgx.ErrNoRows) {
			return tx.ErrConflict
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// endLinking deletes a locked linking: from then on no event waits behind it. more reports
// whether there are entries that came to wait before.
func (t *transaction) endLinking(ctx context.Context, linking store.Linking) (hasMore bool, err error) {
	rows, err := t.waitingEntries(ctx, linking)
	if err != nil || len(rows) > 0 {
		return true, err
	}
	return false, t.DeleteLinking(ctx, linking.ClinicID, linking.Env, linking.ID)
}

// isBehindLinking reports whether older events with the same number, ticket or appointment
// are being linked to a patient. They have to be applied first, because the meaning of an
// appointment's event depends on the ones before. The linking goes on at least until the
// transaction ends.
func (t *transaction) isBehindLinking(ctx context.Context, event *inboundEvent) (bool, error) {
	_, err := t.FindLinkingShared(ctx, dbgen.FindLinkingSharedParams{
		ClinicID: event.scope.Clinic, Env: event.scope.Env, PhoneKey: event.phoneKey(), Source: event.source, ExternalID: event.subject(),
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// claimedFor returns the patient to whom an open entry is being linked, nil if there is
// none.
func (t *transaction) claimedFor(ctx context.Context, entry store.InboxEntry) (*uuid.UUID, error) {
	if entry.Status != Open || entry.MeantFor != nil {
		return entry.MeantFor, nil
	}
	linking, err := t.FindLinking(ctx, dbgen.FindLinkingParams{
		ClinicID: entry.ClinicID, Env: entry.Env, PhoneKey: entry.PhoneKey, Source: entry.Source, ExternalID: entry.ExternalID,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &linking.PatientID, err
}

// isStillLinking reports whether the job still links entries that follow an entry.
func (t *transaction) isStillLinking(ctx context.Context, scope store.Scope, entry uuid.UUID) (bool, error) {
	_, err := t.Linking(ctx, scope.Clinic, scope.Env, entry)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
