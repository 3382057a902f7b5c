package api

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/module/rest"
)

// Record is a record as the clinic's users see it.
type Record struct {
	ID           uuid.UUID        `json:"id"`
	PatientID    uuid.UUID        `json:"patient_id"`
	Date         string           `json:"date" example:"2026-03-02"`
	Type         string           `json:"type"`
	Professional string           `json:"professional"`
	Content      string           `json:"content" doc:"Kept encrypted; connected products never see it"`
	Summary      string           `json:"summary" doc:"What connected products see"`
	URL          string           `json:"url"`
	Sensitivity  care.Sensitivity `json:"sensitivity" enum:"N,R,V" doc:"Normal, restricted: others see that there is one, very restricted: others see nothing"`
	Locked       bool             `json:"locked" doc:"Its patient was anonymized"`
	CreatedAt    time.Time        `json:"created_at"`
}

func (a *API) toRecord(r dbgen.Record) (Record, error) {
	content, err := a.store.Content(r)
	return Record{
		ID: r.ID, PatientID: r.PatientID, Date: formatDate(r.Date), Type: r.Type, Professional: r.Professional, Content: content, Summary: r.ExternalSummary,
		URL: a.recordURL(r), Sensitivity: r.Sensitivity, Locked: r.LockedAt != nil, CreatedAt: r.CreatedAt.UTC(),
	}, err
}

// recordURL is where people look at a record.
func (a *API) recordURL(r dbgen.Record) string {
	if r.Url != nil {
		return *r.Url
	}
	return a.host.URLs.Public + recordPagePath + r.ID.String()
}

// peerRecordURL is where others look at a record: the page that says nothing about it, where
// the address itself says too much.
func (a *API) peerRecordURL(r dbgen.Record) string {
	if r.Url != nil && care.Redact(*r.Url) != *r.Url {
		r.Url = nil
	}
	return a.recordURL(r)
}

type recordInput struct {
	rest.IDParam
	Body struct {
		Date         string                `json:"date" example:"2026-03-02"`
		Type         string                `json:"type" example:"consultation"`
		Professional rest.Optional[string] `json:"professional,omitempty"`
		Content      rest.Optional[string] `json:"content,omitempty"`
		Summary      rest.Optional[string] `json:"summary,omitempty" doc:"For connected products"`
		URL          rest.Optional[string] `json:"url,omitempty"`
		Sensitivity  care.Sensitivity      `json:"sensitivity,omitempty" enum:"N,R,V" default:"N"`
	} `nameHint:"NewRecord"`
}

const maxContent = 200_000 // characters

func (a *API) createRecord(ctx context.Context, in *recordInput) (*struct{ Body Record }, error) {
	at, who, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	today, err := a.today(ctx, at)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	var wrong rest.FieldErrors
	d := store.RecordData{
		Date: wrong.ParseDate(b.Date, "body.date"), Type: redactInput(b.Type), Professional: redactInput(b.Professional.Value), Content: b.Content.Value,
		Summary: care.Redact(strings.TrimSpace(b.Summary.Value)), Sensitivity: b.Sensitivity, By: &who.UserID,
	}
	b.URL = emptyAsNull(b.URL)
	b.URL.ApplyToNullable(&d.URL)
	wrong.Check(!d.Date.After(today), "body.date", "must not be in the future")
	wrong.CheckLength(d.Type, "body.type", 1, 60)
	wrong.CheckLength(d.Professional, "body.professional", 0, 120)
	wrong.CheckLength(d.Content, "body.content", 0, maxContent)
	wrong.CheckLength(d.Summary, "body.summary", 0, 500)
	wrong.CheckURL(d.URL, "body.url")
	wrong.Check(care.RedactCPFs(b.URL.Value) == b.URL.Value, "body.url", "must not have a CPF in it")
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	var made dbgen.Record
	err = a.store.InTx(ctx, "writing a record", func(tx *store.Tx) error {
		made, err = tx.CreateRecord(ctx, at, in.ID, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	shown, err := a.toRecord(made)
	return &struct{ Body Record }{shown}, err
}

// patientItemsInput asks for a page of what a patient has.
type patientItemsInput struct {
	rest.IDParam
	rest.PageParams
}

func (a *API) listRecords(ctx context.Context, in *patientItemsInput) (*struct{ Body rest.Page[Record] }, error) {
	at, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.requirePatient(ctx, at, in.ID); err != nil {
		return nil, err
	}
	rows, err := a.store.RecordsPage(ctx, dbgen.RecordsPageParams{ClinicID: at.Clinic, Env: at.Env, PatientID: in.ID, RowLimit: in.PerPage, RowOffset: in.Offset()})
	if err != nil {
		return nil, err
	}
	items := make([]Record, len(rows))
	for i, r := range rows {
		if items[i], err = a.toRecord(r); err != nil {
			return nil, err
		}
	}
	total, err := a.store.CountRecords(ctx, dbgen.CountRecordsParams{ClinicID: at.Clinic, Env: at.Env, PatientID: in.ID, MaxCount: store.MaxCount})
	return &struct{ Body rest.Page[Record] }{rest.NewPage(items, total, in.PageParams)}, err
}
