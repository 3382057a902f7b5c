package api

import (
	"context"
	"errors"
	"net/http"
	"regexp"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/importfile"
	"integrationhub/messaging/internal/imports"
	"integrationhub/messaging/internal/store"
)

const (
	maxImportBytes = 16 << 20 // of a file
	maxImportForm  = 64 << 10 // of what is around it in its form
)

// countryCodePattern is the form of country codes.
var countryCodePattern = regexp.MustCompile(`^[1-9][0-9]{0,2}$`)

type importContactsInput struct {
	RawBody huma.MultipartFormFiles[struct {
		File          huma.FormFile `form:"file" required:"true" doc:"A table whose first line names its columns (name, number, email, or in Portuguese: nome, telefone), separated by commas or semicolons; 16 MiB at most"`
		DryRun        bool          `form:"dryRun" required:"false" doc:"Find out what the import would do, and change nothing"`
		ContactListID int64         `form:"contactListId" required:"false" minimum:"1" maximum:"9007199254740991" doc:"Contact list that gets the contacts"`
		CountryCode   string        `form:"countryCode" required:"false" maxLength:"3" doc:"Goes before numbers that have at most 11 digits and no plus, such as 55; absent: they are taken as they are" example:"55"`
	}]
}

// ContactImport is what an import of contacts did, does or would do.
type ContactImport struct {
	ID       *int64          `json:"id" doc:"Of an import in progress, for GET /contacts/imports/{id}; null: it is done" example:"3"`
	Status   string          `json:"status" enum:"pending,running,done,failed,cancelled" doc:"failed: the stored file cannot be read any more; upload it again. cancelled: what was imported before stays and is counted"`
	DryRun   bool            `json:"dryRun" doc:"Nothing was changed"`
	Total    int             `json:"total" doc:"Rows of the file"`
	Created  int             `json:"created" doc:"New contacts"`
	Updated  int             `json:"updated" doc:"Rows that said something new of a contact"`
	Skipped  int             `json:"skipped" doc:"Rows that said nothing new"`
	Failed   int             `json:"failed" doc:"Rows with an error"`
	Errors   []ImportError   `json:"errors" nullable:"false" doc:"The first thousand"`
	Warnings []ImportWarning `json:"warnings" nullable:"false" doc:"The first thousand"`
	Columns  []ImportColumn  `json:"columns" nullable:"false" doc:"How the file's columns are read; empty for an import in progress"`
	Preview  []ImportPreview `json:"preview" nullable:"false" doc:"The first 20 rows; empty for an import in progress"`
}

// ImportError is the problem of a line.
type ImportError struct {
	Line  int    `json:"line" doc:"The first line of the file is 1" example:"2"`
	Error string `json:"error" doc:"For people, without the values" example:"has no number"`
}

// ImportWarning says what of a line was left out.
type ImportWarning struct {
	Line    int    `json:"line" doc:"The first line of the file is 1" example:"2"`
	Warning string `json:"warning" doc:"For people, without the values"`
}

// ImportColumn is a column of a file.
type ImportColumn struct {
	Heading string  `json:"heading" doc:"As the file has it" example:"Telefone"`
	Field   *string `json:"field" enum:"name,number,email" doc:"What it is used for; null: it is ignored"`
}

// ImportPreview is a row as it is read.
type ImportPreview struct {
	Line   int    `json:"line" doc:"The first line of the file is 1" example:"2"`
	Name   string `json:"name" doc:"Empty: the file has none"`
	Number string `json:"number" doc:"As it is stored"`
	Email  string `json:"email" doc:"Empty: the file has none"`
	Action string `json:"action" enum:"create,update,skip,fail" doc:"What the import does with it"`
}

type importOutput struct {
	Status int
	Body   ContactImport
}

// bindImportContacts binds the operation with a larger body limit than others.
func (a *API) bindImportContacts(api huma.API, op huma.Operation) {
	op.MaxBodyBytes = maxImportBytes + maxImportForm
	huma.Register(api, op, func(ctx context.Context, in *importContactsInput) (*importOutput, error) {
		out, err := a.importContacts(ctx, in)
		return out, dberr.Wrap(op.OperationID, err)
	})
}

func (a *API) importContacts(ctx context.Context, in *importContactsInput) (*importOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	form := in.RawBody.Data()
	if form.File.Size > maxImportBytes {
		return nil, hub.Errorf(hub.ErrTooLarge, "file_too_large", "The file is too large: at most 16 MiB.")
	}
	if form.CountryCode != "" && !countryCodePattern.MatchString(form.CountryCode) {
		return nil, hub.Invalid("body.countryCode", "must have one to three digits, such as 55")
	}
	var list *int64
	if form.ContactListID != 0 {
		list = &form.ContactListID
		if _, err := a.store.ContactList(ctx, user.scope.Company, *list); err != nil {
			return nil, dberr.MapNoRows(err, errNoContactList())
		}
	}
	leave, err := a.importGate.enter(ctx, user.scope.Company)
	if err != nil {
		return nil, hub.Errorf(hub.ErrUnavailable, "uploads_busy", "Other files are being read; try again in a moment.").WithCause(err)
	}
	defer leave()
	file, err := imports.OpenFile(form.File, form.CountryCode)
	var formatErr importfile.FormatError
	if errors.As(err, &formatErr) {
		return nil, hub.Invalid("body.file", formatErr.Error())
	}
	if err != nil {
		return nil, err
	}
	var result imports.Result
	switch {
	case form.DryRun:
		result, err = a.imports.Preview(ctx, user.scope, file)
	case file.IsLarge():
		stored, err := a.imports.Enqueue(ctx, user.scope, list, file)
		if err != nil {
			return nil, err
		}
		return importInProgress(stored, http.StatusAccepted)
	default:
		result, err = a.imports.Run(ctx, user.scope, list, file)
	}
	return &importOutput{http.StatusOK, toFinishedImport(result, file, form.DryRun)}, err
}

// toFinishedImport returns the response for an import that was done while the request waited.
func toFinishedImport(result imports.Result, file *imports.File, isDryRun bool) ContactImport {
	return ContactImport{
		Status: imports.StatusDone, DryRun: isDryRun, Total: file.Total, Created: result.Created, Updated: result.Updated, Skipped: result.Skipped, Failed: result.Failed,
		Errors: toImportErrors(result.Errors), Warnings: toImportWarnings(result.Warnings),
		Columns: rest.Map(file.Columns, func(c importfile.Column) ImportColumn {
			if c.Field == "" {
				return ImportColumn{Heading: c.Heading}
			}
			return ImportColumn{c.Heading, &c.Field}
		}),
		Preview: rest.Map(result.Preview, func(r imports.PreviewRow) ImportPreview {
			return ImportPreview{r.Line, r.Name, r.Number, r.Email, r.Action}
		}),
	}
}

func toImportErrors(notes []imports.Note) []ImportError {
	return rest.Map(notes, func(n imports.Note) ImportError { return ImportError{n.Line, n.Text} })
}

func toImportWarnings(notes []imports.Note) []ImportWarning {
	return rest.Map(notes, func(n imports.Note) ImportWarning { return ImportWarning{n.Line, n.Text} })
}

// importInProgress returns the response for an import that a job does.
func importInProgress(stored store.Import, status int) (*importOutput, error) {
	errorNotes, err := imports.Notes(stored.Errors)
	if err != nil {
		return nil, err
	}
	warnings, err := imports.Notes(stored.Warnings)
	return &importOutput{status, ContactImport{
		ID: &stored.ID, Status: stored.Status, Total: stored.Total, Created: stored.Created, Updated: stored.Updated, Skipped: stored.Skipped, Failed: stored.Failed,
		Errors: toImportErrors(errorNotes), Warnings: toImportWarnings(warnings), Columns: []ImportColumn{}, Preview: []ImportPreview{},
	}}, err
}

func (a *API) getImport(ctx context.Context, in *IDParam) (*importOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := a.store.ImportByID(ctx, user.scope.Company, in.ID)
	if err != nil {
		return nil, dberr.MapNoRows(err, notFound("no_import_found", "import"))
	}
	return importInProgress(stored, http.StatusOK)
}

// cancelImport ends an import in progress.
func (a *API) cancelImport(ctx context.Context, in *IDParam) (*importOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	cancelled, err := a.imports.Cancel(ctx, user.scope, in.ID)
	if err != nil {
		return nil, err
	}
	return importInProgress(cancelled, http.StatusOK)
}
