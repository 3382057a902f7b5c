package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/importfile"
	"integrationhub/clinic/internal/imports"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
)

// maxImportFormBytes bounds an uploaded file with the form around it, in bytes: a table of
// some 100,000 patients. The form is held in memory until its file is stored.
const maxImportFormBytes = 16 << 20

type createImportInput struct {
	RawBody huma.MultipartFormFiles[struct {
		File   huma.FormFile `form:"file" required:"true" doc:"A table with names of columns in its first line (external_id, name, phone, email, cpf, birth_date, status, or in Portuguese), or FHIR R4 patients, one on each line; 16 MiB at most"`
		Format string        `form:"format" required:"true" enum:"csv,fhir-ndjson"`
	}]
}

type createImportOutput struct {
	Body struct {
		ID uuid.UUID `json:"id"`
	} `nameHint:"ImportMade"`
}

// bindCreateImport binds an operation with a larger body limit than others.
func (a *API) bindCreateImport(api huma.API, op huma.Operation) {
	op.MaxBodyBytes = maxImportFormBytes
	huma.Register(api, op, func(ctx context.Context, in *createImportInput) (*createImportOutput, error) {
		out, err := a.createImport(ctx, in)
		return out, dberr.Wrap(op.OperationID, err)
	})
}

func (a *API) createImport(ctx context.Context, in *createImportInput) (*createImportOutput, error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	form := in.RawBody.Data()
	format := importfile.Format(form.Format)
	if format != importfile.CSV && format != importfile.NDJSON {
		return nil, hub.Invalid("body.format", "must be csv or fhir-ndjson")
	}
	out := &createImportOutput{}
	out.Body.ID, err = a.imports.Create(ctx, scope, imports.Upload{Format: format, File: form.File, User: caller.UserID})
	return out, err
}

// Import is an import's progress.
type Import struct {
	ID         uuid.UUID  `json:"id"`
	Format     string     `json:"format" enum:"csv,fhir-ndjson"`
	Status     string     `json:"status" enum:"pending,running,done,failed"`
	Total      int        `json:"total" doc:"Patients in the file"`
	Processed  int        `json:"processed" doc:"Of them, so far"`
	Created    int        `json:"created"`
	Updated    int        `json:"updated"`
	Skipped    int        `json:"skipped" doc:"Lines without new data, and lines about erased patients; the latter are among the errors"`
	Failed     int        `json:"failed" doc:"Lines with an error"`
	Problem    *string    `json:"problem" doc:"Why the import as a whole failed"`
	CreatedAt  time.Time  `json:"created_at"`
	FinishedAt *time.Time `json:"finished_at"`
}

// ImportError is a problem with a line.
type ImportError struct {
	Line  int    `json:"line" doc:"The first line of the file is 1"`
	Error string `json:"error" doc:"For people, without the values"`
}

func toImport(i store.Import) Import {
	return Import{
		ID: i.ID, Format: i.Format, Status: i.Status, Total: i.Total, Processed: i.Created + i.Updated + i.Skipped + i.Failed, Created: i.Created,
		Updated: i.Updated, Skipped: i.Skipped, Failed: i.Failed, Problem: i.Problem, CreatedAt: i.CreatedAt.UTC(), FinishedAt: clampOptionalTime(i.FinishedAt),
	}
}

// ImportDetail is an Import with its errors by line.
type ImportDetail struct {
	Import
	Errors []ImportError `json:"errors" nullable:"false" doc:"The first thousand"`
}

func (a *API) getImport(ctx context.Context, in *rest.IDParam) (*struct{ Body ImportDetail }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	row, err := a.store.ImportByID(ctx, scope.Clinic, scope.Env, in.ID)
	if err != nil {
		return nil, rest.NotFoundIfNoRows("Import", err)
	}
	lineErrors, err := a.imports.LineErrors(ctx, scope, in.ID)
	if err != nil {
		return nil, err
	}
	return &struct{ Body ImportDetail }{ImportDetail{toImport(row), rest.Map(lineErrors, func(e imports.LineError) ImportError { return ImportError{Line: e.Line, Error: e.Message} })}}, nil
}

func (a *API) listImports(ctx context.Context, in *rest.PageParams) (*struct{ Body rest.Page[Import] }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	rows, total, err := a.store.ListImports(ctx, scope, toPage(*in))
	return &struct{ Body rest.Page[Import] }{rest.NewPage(rest.Map(rows, toImport), total, *in)}, err
}
