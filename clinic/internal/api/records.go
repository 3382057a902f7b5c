package api

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/rest"
)

// Record is a record as the clinic's users see it.
type Record struct {
	ID           uuid.UUID        `json:"id" doc:"Names the record"`
	PatientID    uuid.UUID        `json:"patient_id" doc:"Patient it belongs to"`
	Date         string           `json:"date" doc:"Day it is about, YYYY-MM-DD" example:"2026-03-02"`
	Type         string           `json:"type" doc:"Kind of record"`
	Professional string           `json:"professional" doc:"Who wrote it"`
	Content      string           `json:"content" doc:"Kept encrypted; connected products never see it. Tax ids are masked"`
	Withheld     bool             `json:"content_withheld" doc:"The record is locked, and its content is shown to administrators who state a reason in X-Access-Reason"`
	Summary      string           `json:"summary" doc:"What connected products see"`
	URL          string           `json:"url" doc:"Page that says where the record is shown"`
	Sensitivity  care.Sensitivity `json:"sensitivity" enum:"N,R,V" doc:"Normal, restricted: others see that there is one, very restricted: others see nothing"`
	Locked       bool             `json:"locked" doc:"Its patient was anonymized"`
	CreatedAt    time.Time        `json:"created_at" doc:"When it was stored"`
}

func (a *API) toRecord(r store.Record, view recordView) (Record, error) {
	content, withheld, err := a.recordContent(r, view)
	return Record{
		ID: r.ID, PatientID: r.PatientID, Date: formatDate(r.Date), Type: r.Type, Professional: r.Professional, Content: content, Withheld: withheld, Summary: r.ExternalSummary,
		URL: a.recordURL(r), Sensitivity: r.Sensitivity, Locked: r.LockedAt != nil, CreatedAt: r.CreatedAt.UTC(),
	}, err
}

// recordURL returns the address at which users read a record.
func (a *API) recordURL(r store.Record) string {
	if r.Url != nil {
		return *r.Url
	}
	return a.host.URLs.Public + recordPagePath + r.ID.String()
}

// peerRecordURL returns the address of a record for connected products. If the stored address
// contains a CPF or a diagnosis code, it is the landing page.
func (a *API) peerRecordURL(r store.Record) string {
	if r.Url != nil && care.Redact(*r.Url) != *r.Url {
		r.Url = nil
	}
	return a.recordURL(r)
}

type recordInput struct {
	rest.IDParam
	Body struct {
		Date         string                `json:"date" format:"date" doc:"Day it is about, YYYY-MM-DD" example:"2026-03-02"`
		Type         string                `json:"type" minLength:"1" maxLength:"60" doc:"Kind of record" example:"consultation"`
		Professional rest.Optional[string] `json:"professional,omitempty" maxLength:"120" doc:"Who wrote it"`
		Content      rest.Optional[string] `json:"content,omitempty" maxLength:"200000" doc:"What is written down"`
		Summary      rest.Optional[string] `json:"summary,omitempty" maxLength:"500" doc:"For connected products"`
		URL          rest.Nullable[string] `json:"url,omitempty" maxLength:"2048" doc:"null or absent: none"`
		Sensitivity  care.Sensitivity      `json:"sensitivity,omitempty" enum:"N,R,V" default:"N" doc:"Who may read it: N normal, R restricted, V very restricted"`
	} `nameHint:"NewRecord"`
}

const maxContent = 200_000 // characters

func (a *API) createRecord(ctx context.Context, in *recordInput) (*struct{ Body Record }, error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	today, err := a.today(ctx, scope)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	var errs rest.FieldErrors
	d := store.RecordData{
		Date: errs.ParseDate(b.Date, "body.date"), Type: redactInput(b.Type), Professional: redactInput(b.Professional.Value), Content: b.Content.Value,
		Summary: care.Redact(strings.TrimSpace(b.Summary.Value)), Sensitivity: b.Sensitivity, By: &caller.UserID,
	}
	b.URL = emptyAsNull(b.URL)
	b.URL.ApplyTo(&d.URL)
	errs.Check(!d.Date.After(today), "body.date", "must not be in the future")
	errs.CheckLength(d.Type, "body.type", 1, 60)
	errs.CheckLength(d.Professional, "body.professional", 0, 120)
	errs.CheckLength(d.Content, "body.content", 0, maxContent)
	errs.CheckLength(d.Summary, "body.summary", 0, 500)
	errs.CheckURL(d.URL, "body.url")
	errs.Check(care.RedactCPFs(b.URL.Value) == b.URL.Value, "body.url", "must not have a CPF in it")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	var record store.Record
	err = a.store.InTx(ctx, "writing a record", func(tx *store.Tx) error {
		record, err = tx.CreateRecord(ctx, scope, in.ID, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	response, err := a.toRecord(record, recordView{})
	return &struct{ Body Record }{response}, err
}

type listRecordsInput struct {
	PatientItemsInput
	RecordAccessParams
}

func (a *API) listRecords(ctx context.Context, in *listRecordsInput) (*struct{ Body rest.Page[Record] }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	patient, err := a.store.Patient(ctx, scope.Clinic, scope.Env, in.ID)
	if err != nil {
		return nil, rest.NotFoundIfNoRows("Patient", err)
	}
	view, err := a.newRecordView(ctx, scope, patient, in.RecordAccessParams)
	if err != nil {
		return nil, err
	}
	rows, total, err := a.store.ListRecords(ctx, scope, in.ID, toPage(in.PageParams))
	if err != nil {
		return nil, err
	}
	items := make([]Record, len(rows))
	for i, r := range rows {
		if items[i], err = a.toRecord(r, view); err != nil {
			return nil, err
		}
	}
	return &struct{ Body rest.Page[Record] }{rest.NewPage(items, total, in.PageParams)}, err
}
