package api

import (
	"context"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/importfile"
	"integrationhub/clinic/internal/imports"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/pointer"
	"integrationhub/hub/module/rest"
)

// maxImportFormBytes bounds an uploaded file with the form around it, in bytes: a table of
// some 100,000 patients. The form is held in memory until its file is stored.
const maxImportFormBytes = 16 << 20

type createImportInput struct {
	RawBody huma.MultipartFormFiles[struct {
		File   huma.FormFile `form:"file" required:"true" doc:"A table with names of columns in its first line (external_id, name, phone, email, cpf, birth_date, status, or in Portuguese), or FHIR R4 patients, one on each line; 16 MiB at most"`
		Format string        `form:"format" required:"true" enum:"csv,fhir-ndjson" doc:"What kind of file it is"`
		Source string        `form:"source" required:"false" maxLength:"200" doc:"The list or system that the patients' numbers belong to, such as the name of the program that wrote the file. Absent: the system that FHIR names for the id, else the clinic's own list"`
		DryRun bool          `form:"dry_run" required:"false" doc:"Find out what the import would do, by line, and change nothing"`
	}]
}

type createImportOutput struct {
	Body struct {
		ID      uuid.UUID     `json:"id" doc:"Names the import in paths"`
		DryRun  bool          `json:"dry_run" doc:"Whether it only checks"`
		Preview ImportPreview `json:"preview" doc:"How the first rows are understood"`
	} `nameHint:"ImportMade"`
}

// ImportPreview says how a file is read.
type ImportPreview struct {
	Total   int                `json:"total" doc:"Rows of the file"`
	Columns []ImportColumn     `json:"columns" nullable:"false" doc:"Of a table, in order"`
	Rows    []ImportPreviewRow `json:"rows" nullable:"false" doc:"The first 20"`
}

// ImportColumn is a column of a table.
type ImportColumn struct {
	Heading string  `json:"heading" doc:"First line of the column"`
	Field   *string `json:"field" enum:"external_id,name,family_name,social_name,phone,email,cpf,birth_date,status" doc:"What the column is used for; null: it is ignored"`
}

// ImportPreviewRow is a row of a file as it is read.
type ImportPreviewRow struct {
	Line       int      `json:"line" doc:"Where the row is in the file, from 1"`
	ExternalID *string  `json:"external_id" doc:"What the other system calls the patient; null: nothing"`
	Name       string   `json:"name" doc:"Display name"`
	Phone      *string  `json:"phone" doc:"As understood, +5511987654321; null: none"`
	Email      *string  `json:"email" doc:"E-mail address; null: none"`
	CPF        *string  `json:"cpf" doc:"All but the last two digits are hidden"`
	BirthDate  *string  `json:"birth_date" doc:"Day of birth, YYYY-MM-DD; null: unknown"`
	Status     *string  `json:"status" doc:"null: the row does not say it"`
	Warnings   []string `json:"warnings" nullable:"false" doc:"What is left out"`
	Error      *string  `json:"error" doc:"Why the row cannot be imported"`
}

func toImportPreview(preview imports.Preview) ImportPreview {
	return ImportPreview{
		Total: preview.Total,
		Columns: rest.Map(preview.Columns, func(c importfile.Column) ImportColumn {
			return ImportColumn{redactInput(c.Heading), pointer.NilIfZero(c.Field)}
		}),
		Rows: rest.Map(preview.Rows, func(row imports.PreviewRow) ImportPreviewRow {
			previewRow := ImportPreviewRow{
				Line: row.Line, ExternalID: pointer.NilIfZero(row.ExternalID), Name: row.Name, Phone: pointer.NilIfZero(row.Phone), Email: pointer.NilIfZero(row.Email),
				BirthDate: pointer.NilIfZero(row.BirthDate), Status: pointer.NilIfZero(row.Status), Warnings: append([]string{}, row.Warnings...), Error: pointer.NilIfZero(row.Problem),
			}
			if row.CPFLast2 != "" {
				previewRow.CPF = pointer.NilIfZero(care.MaskCPF(row.CPFLast2))
			}
			return previewRow
		}),
	}
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
	var errs rest.FieldErrors
	errs.CheckLength(form.Source, "body.source", 0, 200)
	errs.Check(redactInput(form.Source) == strings.TrimSpace(form.Source), "body.source", "must not have a CPF in it")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	out := &createImportOutput{}
	id, preview, err := a.imports.Create(ctx, scope, imports.Upload{Format: format, File: form.File, User: caller.UserID, Source: form.Source, DryRun: form.DryRun})
	out.Body.ID, out.Body.DryRun, out.Body.Preview = id, form.DryRun, toImportPreview(preview)
	return out, err
}

// Import is an import's progress.
type Import struct {
	ID         uuid.UUID   `json:"id" doc:"Names the import in paths"`
	Format     string      `json:"format" enum:"csv,fhir-ndjson" doc:"What kind of file it is"`
	Source     string      `json:"source" doc:"The list that the patients' numbers belong to; empty: what the file names, else the clinic's own"`
	DryRun     bool        `json:"dry_run" doc:"Nothing is changed; the counts say what would be"`
	Status     string      `json:"status" enum:"pending,running,done,failed" doc:"How far it is"`
	Total      int         `json:"total" doc:"Patients in the file"`
	Processed  int         `json:"processed" doc:"Of them, so far"`
	Created    int         `json:"created" doc:"How many patients are new"`
	Updated    int         `json:"updated" doc:"How many patients were changed"`
	Skipped    int         `json:"skipped" doc:"Lines without new data, and lines about erased patients; the latter are among the errors"`
	Failed     int         `json:"failed" doc:"Lines with an error"`
	Warned     int         `json:"warned" doc:"Lines with a warning; they are among the created, updated or skipped ones"`
	Problem    *string     `json:"problem" doc:"Why the import as a whole failed"`
	Undo       *ImportUndo `json:"undo" doc:"null: it was not asked for"`
	CreatedAt  time.Time   `json:"created_at" doc:"When it was stored"`
	FinishedAt *time.Time  `json:"finished_at" doc:"When it came to its end; null: not yet"`
}

// ImportUndo is how far an import is undone.
type ImportUndo struct {
	Status     string     `json:"status" enum:"running,done" doc:"How far it is"`
	Undone     int        `json:"undone" doc:"Patients that are as they were before, or that are removed"`
	Kept       int        `json:"kept" doc:"Patients that stay as they are"`
	FinishedAt *time.Time `json:"finished_at" doc:"When it came to its end; null: not yet"`
}

// KeptPatient is a patient that an undo left as it is.
type KeptPatient struct {
	PatientID uuid.UUID `json:"patient_id" doc:"Who was not taken back"`
	Line      int       `json:"line" doc:"Of the file"`
	Reason    string    `json:"reason" doc:"Text shown to users"`
}

// ImportError is a problem with a line.
type ImportError struct {
	Line  int    `json:"line" doc:"The first line of the file is 1"`
	Error string `json:"error" doc:"For people, without the values"`
}

func toImport(i store.Import) Import {
	body := Import{
		ID: i.ID, Format: i.Format, Source: i.Source, DryRun: i.DryRun, Status: i.Status, Total: i.Total, Processed: i.Created + i.Updated + i.Skipped + i.Failed, Created: i.Created,
		Updated: i.Updated, Skipped: i.Skipped, Failed: i.Failed, Warned: i.Warned, Problem: i.Problem, CreatedAt: i.CreatedAt.UTC(), FinishedAt: clampOptionalTime(i.FinishedAt),
	}
	if i.UndoStatus != nil {
		body.Undo = &ImportUndo{*i.UndoStatus, i.Undone, i.Kept, clampOptionalTime(i.UndoFinishedAt)}
	}
	return body
}

// ImportDetail is an Import with its errors by line.
type ImportDetail struct {
	Import
	Errors   []ImportError   `json:"errors" nullable:"false" doc:"The first thousand"`
	Warnings []ImportWarning `json:"warnings" nullable:"false" doc:"The first thousand"`
	Kept     []KeptPatient   `json:"kept_patients" nullable:"false" doc:"What an undo left as it is, and why: the first thousand"`
}

// ImportWarning says what of a line was left out, or what else to look at.
type ImportWarning struct {
	Line    int    `json:"line" doc:"The first line of the file is 1"`
	Warning string `json:"warning" doc:"For people, without the values"`
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
	warnings, err := a.imports.LineWarnings(ctx, scope, in.ID)
	if err != nil {
		return nil, err
	}
	kept, err := a.imports.KeptPatients(ctx, scope, in.ID)
	if err != nil {
		return nil, err
	}
	return &struct{ Body ImportDetail }{ImportDetail{
		Kept:     rest.Map(kept, func(k imports.KeptPatient) KeptPatient { return KeptPatient{k.Patient, k.Line, k.Reason} }),
		Import:   toImport(row),
		Errors:   rest.Map(lineErrors, func(e imports.LineMessage) ImportError { return ImportError{Line: e.Line, Error: e.Message} }),
		Warnings: rest.Map(warnings, func(w imports.LineMessage) ImportWarning { return ImportWarning{Line: w.Line, Warning: w.Message} }),
	}}, nil
}

// undoImport starts a job; its progress is the import's.
func (a *API) undoImport(ctx context.Context, in *rest.IDParam) (*struct{ Body Import }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.imports.StartUndo(ctx, scope, in.ID); err != nil {
		return nil, err
	}
	row, err := a.store.ImportByID(ctx, scope.Clinic, scope.Env, in.ID)
	return &struct{ Body Import }{toImport(row)}, rest.NotFoundIfNoRows("Import", err)
}

func (a *API) listImports(ctx context.Context, in *rest.PageParams) (*struct{ Body rest.Page[Import] }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	rows, total, err := a.store.ListImports(ctx, scope, toPage(*in))
	return &struct{ Body rest.Page[Import] }{rest.NewPage(rest.Map(rows, toImport), total, *in)}, err
}
