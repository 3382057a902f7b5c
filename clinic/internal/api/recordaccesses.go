package api

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// RecordAccessParams are what a caller asks for beyond the usual view of records. It is
// exported because huma binds no unexported embedded struct.
type RecordAccessParams struct {
	Reveal string `query:"reveal" enum:"cpf" doc:"Whole tax ids, also in records: administrators only, where the clinic allows it; on record"`
	Reason string `header:"X-Access-Reason" minLength:"10" maxLength:"200" doc:"Why an administrator opens the locked content of an erased patient's records: 10 to 200 characters, stored with the user's name. Do not name the patient"`
}

// recordView says what of records' content a caller is shown.
type recordView struct {
	wholeCPFs bool
	locked    bool // the content of locked records
}

// recordContent returns a record's content for a view; withheld reports whether it has one that
// is not shown.
func (a *API) recordContent(r store.Record, view recordView) (content string, withheld bool, err error) {
	if r.LockedAt != nil && !view.locked {
		return "", r.ContentEnc != nil, nil
	}
	content, err = a.store.Content(r)
	if !view.wholeCPFs {
		content = care.RedactCPFs(content)
	}
	return content, false, err
}

// newRecordView returns the view that a caller asks for of a patient's records. It stores
// who opens locked records, and why. Whoever may not ask is refused.
func (a *API) newRecordView(ctx context.Context, scope store.Scope, patient store.Patient, params RecordAccessParams) (view recordView, err error) {
	reason, err := parseAccessReason(ctx, params.Reason)
	if err != nil {
		return recordView{}, err
	}
	if params.Reveal != "" {
		if err := a.requireReveal(ctx, scope, patient.ID); err != nil {
			return recordView{}, err
		}
		view.wholeCPFs = true
	}
	if reason != "" && patient.Status == store.Anonymized {
		if err := a.openLockedRecords(ctx, scope, patient.ID, reason); err != nil {
			return recordView{}, err
		}
		view.locked = true
	}
	return view, nil
}

// parseAccessReason returns the stated reason, "" if there is none.
func parseAccessReason(ctx context.Context, header string) (reason string, err error) {
	if header == "" {
		return "", nil
	}
	_, caller, err := requestScope(ctx)
	if err != nil {
		return "", err
	}
	if !caller.Admin {
		return "", hub.Errorf(hub.ErrForbidden, "admin_only", "Only administrators may open locked records.")
	}
	if !utf8.ValidString(header) { // browsers send headers as Latin-1
		latin1 := make([]rune, len(header))
		for i := range len(header) {
			latin1[i] = rune(header[i])
		}
		header = string(latin1)
	}
	reason = redactInput(header)
	var errs rest.FieldErrors
	errs.CheckLength(reason, "header.X-Access-Reason", 10, 200)
	return reason, errs.Err()
}

func (a *API) openLockedRecords(ctx context.Context, scope store.Scope, patient uuid.UUID, reason string) error {
	_, caller, err := requestScope(ctx)
	if err != nil {
		return err
	}
	id, err := a.store.AddRecordAccess(ctx, scope, store.RecordAccessData{PatientID: patient, UserID: caller.UserID, UserName: caller.Name, Reason: reason})
	if err != nil {
		return err
	}
	module.SetSubject(ctx, patient.String())
	return a.host.Audit.Record(ctx, "records.open-locked", id.String())
}

// RecordAccess says who opened the locked records of an erased patient, and why.
type RecordAccess struct {
	ID        uuid.UUID `json:"id" doc:"Of the access: the audit log names it"`
	PatientID uuid.UUID `json:"patient_id" doc:"Whose records were opened"`
	UserID    uuid.UUID `json:"user_id" doc:"The administrator"`
	UserName  string    `json:"user_name" doc:"The administrator's name at that time"`
	Reason    string    `json:"reason" minLength:"10" maxLength:"200" doc:"As it was stated in X-Access-Reason"`
	CreatedAt time.Time `json:"created_at" doc:"When they were opened"`
}

func toRecordAccess(r store.RecordAccess) RecordAccess {
	return RecordAccess{r.ID, r.PatientID, r.UserID, r.UserName, r.Reason, r.CreatedAt.UTC()}
}

func (a *API) listRecordAccesses(ctx context.Context, in *PatientItemsInput) (*struct{ Body rest.Page[RecordAccess] }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.requirePatient(ctx, scope, in.ID); err != nil {
		return nil, err
	}
	rows, total, err := a.store.ListRecordAccesses(ctx, scope, in.ID, toPage(in.PageParams))
	return &struct{ Body rest.Page[RecordAccess] }{rest.NewPage(rest.Map(rows, toRecordAccess), total, in.PageParams)}, err
}
