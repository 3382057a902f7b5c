package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/events"
)

// Record is a row of clinic.records.
type Record = dbgen.Record

// ListRecords returns a page of a patient's records, newest first, and the total,
// counted up to [MaxCount].
func (s *Store) ListRecords(ctx context.Context, scope Scope, patient uuid.UUID, page Page) (records []Record, total int, err error) {
	records, err = s.RecordsPage(ctx, dbgen.RecordsPageParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, RowLimit: page.Limit, RowOffset: page.Offset})
	if err != nil {
		return nil, 0, err
	}
	total, err = s.CountRecords(ctx, dbgen.CountRecordsParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, MaxCount: MaxCount})
	return records, total, err
}

// ListRecordsForPeer returns the newest records of a patient that connected products may see:
// all but very restricted ones.
func (s *Store) ListRecordsForPeer(ctx context.Context, scope Scope, patient uuid.UUID, limit int) ([]Record, error) {
	return s.RecordsVisibleToPeers(ctx, dbgen.RecordsVisibleToPeersParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: patient, RowLimit: limit})
}

// RecordData are the fields of a new record.
type RecordData struct {
	Date         time.Time // midnight UTC
	Type         string
	Professional string // display name
	Content      string // stored encrypted; only the clinic's users read it
	Summary      string // for connected products
	URL          *string
	Sensitivity  care.Sensitivity
	ExternalRef  *string    // the id in the system it was imported from
	By           *uuid.UUID // the user who writes it
}

// contentContext binds encrypted content to its record.
func contentContext(record uuid.UUID) string { return "record/" + record.String() + "/content" }

// Content decrypts a record's content.
func (s *Store) Content(r Record) (string, error) {
	if r.ContentEnc == nil {
		return "", nil
	}
	content, err := s.host.Sealer.Open(r.ContentEnc, contentContext(r.ID))
	if err != nil {
		return "", fmt.Errorf("decrypting a record: %w", err)
	}
	return string(content), nil
}

// CreateRecord inserts a record of a patient and publishes record.created with what its
// sensitivity lets connected products see. Errors like [Tx.LockUnerasedPatient].
func (t *Tx) CreateRecord(ctx context.Context, scope Scope, patient uuid.UUID, d RecordData) (Record, error) {
	if err := t.LockUnerasedPatient(ctx, scope, patient); err != nil {
		return Record{}, err
	}
	id := NewID()
	var content []byte
	if d.Content != "" {
		content = t.Host.Sealer.Seal([]byte(d.Content), contentContext(id))
	}
	r, err := t.InsertRecord(ctx, dbgen.InsertRecordParams{
		ClinicID: scope.Clinic, Env: scope.Env, ID: id, PatientID: patient, Date: d.Date, Type: care.RedactCPFs(d.Type), Professional: care.RedactCPFs(d.Professional), ContentEnc: content,
		ExternalSummary: care.Redact(d.Summary), Url: d.URL, Sensitivity: d.Sensitivity, ExternalRef: d.ExternalRef, CreatedBy: d.By, CreatedAt: t.Now(),
	})
	if err != nil {
		return r, err
	}
	view := r.Sensitivity.PeerView(r.Type, r.ExternalSummary)
	if view == nil {
		return r, nil
	}
	_, err = t.Publish(ctx, scope.Clinic, scope.Env, events.RecordCreated{PatientID: patient.String(), RecordType: view.Type, Summary: view.Summary})
	return r, err
}
