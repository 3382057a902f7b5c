package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/exports"
	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
)

// exportsPath is the path of bulk exports below the facade's.
const exportsPath = "/exports"

// statusInterval is how often clients should ask for the status of an export.
const statusInterval = 2 * time.Second

// exportTypes returns the types that can be exported, in the order of the files.
func (a *API) exportTypes() []resourceType {
	return []resourceType{a.patientResources(), a.appointmentResources(), a.encounterResources(), a.documentResources(), a.communicationResources()}
}

// exportSource reads the resources of exports: those that searches find.
type exportSource struct{ api *API }

// ExportPage implements [exports.Source].
func (e exportSource) ExportPage(ctx context.Context, tx *store.Tx, query exports.PageQuery) (page exports.Page, err error) {
	reader := *e.api
	reader.store = e.api.store.ReadIn(tx)
	f, err := reader.viewFor(ctx, query.Scope, query.KeyID != uuid.Nil, query.Peer)
	if err != nil {
		return page, err
	}
	types := reader.exportTypes()
	i := slices.IndexFunc(types, func(kind resourceType) bool { return kind.name == query.Type })
	if i < 0 {
		return page, fmt.Errorf("exporting resources: the type %s is not served", query.Type)
	}
	filter := store.ResourceFilter{Scope: query.Scope, ForPeer: f.ForPeer, Limit: query.Limit, SkipCount: true}
	if !query.Since.IsZero() {
		filter.ChangedAt = store.TimeFilter{{store.TimeRange{From: query.Since}}}
	}
	if query.After != uuid.Nil {
		filter.Cursor = &store.Cursor{ID: query.After}
	}
	var outcomes []fhir.Resource
	f.skipUnreadable = func(id uuid.UUID, err error) {
		e.api.host.Log.ErrorContext(ctx, "a resource cannot be decrypted; an export leaves it out", "type", query.Type, "id", id, "clinic", query.Clinic, "error", err)
		outcomes = append(outcomes, fhir.NewUnreadable(query.Type, id))
	}
	found, err := types[i].find(ctx, f, filter)
	if err != nil {
		return page, err
	}
	if found.end == nil {
		return exports.Page{IsEnd: true}, nil
	}
	page.Last = found.end.ID
	if page.Lines, err = exportLines(found.list); err != nil {
		return page, err
	}
	page.Errors, err = exportLines(outcomes)
	return page, err
}

func exportLines(resources []fhir.Resource) (exports.Lines, error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, resource := range resources {
		if err := encoder.Encode(resource); err != nil {
			return exports.Lines{}, fmt.Errorf("writing a resource: %w", err)
		}
	}
	return exports.Lines{Text: lines.Bytes(), Count: len(resources)}, nil
}

type exportRequestOutput struct {
	ContentLocation string `header:"Content-Location" doc:"The address of the export's status"`
}

// bindExportRequest binds the request of an export, by GET or POST, with its parameters in the
// address.
func (a *API) bindExportRequest(api huma.API, op huma.Operation) {
	op.Description = "The response has the address of the status in Content-Location. The export is there for 24 hours, or until a patient is erased; a clinic can have " +
		strconv.Itoa(exports.MaxStored) + " at a time. Administrators of the clinic and the key that asked for it see it."
	op.Parameters = append(operationParameters(fhir.ExportParams()),
		&huma.Param{Name: "Prefer", In: "header", Description: "Exports are asynchronous only", Required: true, Example: "respond-async", Schema: &huma.Schema{Type: huma.TypeString}})
	rest.Handle(func(ctx context.Context, _ *struct{}) (*exportRequestOutput, error) {
		module.RequireAudit(ctx)
		location, err := a.createFHIRExport(ctx)
		return &exportRequestOutput{location}, err
	})(api, op)
}

// createFHIRExport checks a request of an export and returns the address of its status.
func (a *API) createFHIRExport(ctx context.Context) (location string, err error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return "", err
	}
	if _, err := a.allowedTypes(caller, nil); err != nil {
		return "", err
	}
	request := fhirRequestFrom(ctx)
	params, err := request.parameters("")
	if err != nil {
		return "", err
	}
	if err := request.checkAccept(params.Get(fhir.ParamFormat)); err != nil {
		return "", err
	}
	if !request.prefers("respond-async") {
		return "", hub.Errorf(hub.ErrMalformed, "respond_async_required", "Exports are asynchronous only: send the header Prefer: respond-async.")
	}
	query, err := fhir.ParseExportQuery(params)
	if err != nil {
		return "", mapParamError(err)
	}
	types, err := a.allowedTypes(caller, query.Types)
	if err != nil {
		return "", err
	}
	address := a.fhirBase() + "/Patient/$export"
	if encoded := query.Encode(); encoded != "" {
		address += "?" + encoded
	}
	id, err := a.exports.Create(ctx, scope, exports.Request{Viewer: exportViewer(caller), Address: address, Types: types, Since: query.Since})
	return a.exportAddress(id), err
}

// allowedTypes returns the requested types of an export, nil for all that its caller may read.
// It is a [hub.ErrForbidden] if the caller may not read a requested one, or none at all.
func (a *API) allowedTypes(caller module.Caller, requested []string) (types []string, err error) {
	for _, kind := range a.exportTypes() {
		if requested != nil && !slices.Contains(requested, kind.name) {
			continue
		}
		scopeErr := checkReadScope(caller, kind.scope)
		if scopeErr != nil && (requested != nil || err == nil) {
			err = scopeErr
		}
		if scopeErr == nil {
			types = append(types, kind.name)
		}
	}
	if err != nil && (requested != nil || len(types) == 0) {
		return nil, err
	}
	return types, nil
}

func exportViewer(caller module.Caller) exports.Viewer {
	if caller.UserID != uuid.Nil {
		return exports.Viewer{}
	}
	return exports.Viewer{KeyID: caller.KeyID, Peer: caller.Peer}
}

func (a *API) exportAddress(id uuid.UUID) string {
	return a.fhirBase() + exportsPath + "/" + id.String()
}

// ExportManifest lists the files of an export.
type ExportManifest struct {
	TransactionTime     string               `json:"transactionTime" format:"date-time" doc:"Changes until then are in the files, later ones may be: the _since of the next export"`
	Request             string               `json:"request" doc:"The address of the request"`
	RequiresAccessToken bool                 `json:"requiresAccessToken" doc:"true: files are read with the credentials of the request"`
	Output              []ExportManifestFile `json:"output" nullable:"false" maxItems:"5" doc:"One file of each type that has resources"`
	Error               []ExportManifestFile `json:"error" nullable:"false" maxItems:"1" doc:"A file of OperationOutcomes: each names a resource that could not be read and was left out"`
}

// ExportManifestFile is a file of an export.
type ExportManifestFile struct {
	Type  string `json:"type" doc:"Of the resources"`
	URL   string `json:"url" doc:"Its address"`
	Count int    `json:"count" minimum:"1" doc:"Resources in it"`
}

// exportStatus is the body of the status: a manifest, or an OperationOutcome with the progress.
type exportStatus struct {
	manifest ExportManifest
	progress string // "" when the export is done
}

// MarshalJSON implements json.Marshaler.
func (s exportStatus) MarshalJSON() ([]byte, error) {
	if s.progress != "" {
		return json.Marshal(fhir.NewProgress(s.progress))
	}
	return json.Marshal(s.manifest)
}

// ContentType implements huma.ContentTypeFilter.
func (s exportStatus) ContentType(string) string {
	if s.progress != "" {
		return fhir.MediaType
	}
	return "application/json"
}

// Schema implements huma.SchemaProvider.
func (exportStatus) Schema(registry huma.Registry) *huma.Schema {
	return registry.Schema(reflect.TypeFor[ExportManifest](), true, "ExportManifest")
}

type exportStatusOutput struct {
	Status     int
	Progress   string `header:"X-Progress" doc:"How far the export is"`
	RetryAfter string `header:"Retry-After" doc:"Seconds after which to ask again"`
	Expires    string `header:"Expires" doc:"When the files are deleted"`
	Body       exportStatus
}

// bindExportStatus binds the status of an export.
func (a *API) bindExportStatus(api huma.API, op huma.Operation) {
	text := &huma.Param{Schema: &huma.Schema{Type: huma.TypeString}}
	op.Responses["202"] = &huma.Response{
		Description: "The export goes on", Content: map[string]*huma.MediaType{fhir.MediaType: {Schema: outcomeSchema()}},
		Headers: map[string]*huma.Param{"X-Progress": text, "Retry-After": text, "Expires": text},
	}
	rest.Handle(func(ctx context.Context, in *fhirID) (*exportStatusOutput, error) {
		export, files, err := a.findExport(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		out := &exportStatusOutput{Status: http.StatusOK, Expires: export.ExpiresAt.UTC().Format(http.TimeFormat)}
		if export.FinishedAt == nil {
			written := 0
			for _, file := range files {
				written += file.Resources
			}
			out.Status, out.RetryAfter = http.StatusAccepted, strconv.Itoa(int(statusInterval.Seconds()))
			out.Progress = strconv.Itoa(written) + " resources so far"
			out.Body.progress = out.Progress
			return out, nil
		}
		out.Body.manifest = a.newManifest(export, files)
		return out, nil
	})(api, op)
}

func (a *API) newManifest(export store.Export, files []store.ExportFile) ExportManifest {
	manifest := ExportManifest{
		TransactionTime: fhir.FormatInstant(export.CompleteTo), Request: export.Request, RequiresAccessToken: true,
		Output: []ExportManifestFile{}, Error: []ExportManifestFile{},
	}
	for _, file := range files {
		entry := ExportManifestFile{file.Type, a.exportAddress(export.ID) + "/" + file.Type, file.Resources}
		switch {
		case file.Resources == 0:
		case file.Type == exports.ErrorType:
			manifest.Error = append(manifest.Error, entry)
		default:
			manifest.Output = append(manifest.Output, entry)
		}
	}
	return manifest
}

// findExport returns an export that the caller may see, with its files. It is a
// [hub.ErrNotFound] if there is none.
func (a *API) findExport(ctx context.Context, text string) (store.Export, []store.ExportFile, error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return store.Export{}, nil, err
	}
	if _, err := a.allowedTypes(caller, nil); err != nil {
		return store.Export{}, nil, err
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return store.Export{}, nil, hub.NotFound("Export")
	}
	return a.exports.Export(ctx, scope, exportViewer(caller), id)
}

type exportFileInput struct {
	ID   string `path:"id" maxLength:"64" doc:"Names the export"`
	Type string `path:"type" maxLength:"64" doc:"Of the resources, such as Patient"`
}

// bindExportFile binds a file of a finished export.
func (a *API) bindExportFile(api huma.API, op huma.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: "One resource on each line", Content: map[string]*huma.MediaType{fhir.MediaTypeNDJSON: {Schema: &huma.Schema{Type: huma.TypeString}}},
	}
	huma.Register(api, op, func(ctx context.Context, in *exportFileInput) (*bundleOutput, error) {
		module.RequireAudit(ctx)
		export, files, err := a.findExport(ctx, in.ID)
		if err != nil {
			return nil, dberr.Wrap(op.OperationID, err)
		}
		i := slices.IndexFunc(files, func(file store.ExportFile) bool { return file.Type == in.Type && file.Resources > 0 })
		if i < 0 || export.FinishedAt == nil {
			return nil, hub.NotFound("File")
		}
		return &bundleOutput{a.streamBody(op, fhir.MediaTypeNDJSON, func(ctx context.Context, w io.Writer) error { return a.exports.WriteFile(ctx, w, files[i]) })}, nil
	})
}

// deleteFHIRExport cancels an export, or deletes its files.
func (a *API) deleteFHIRExport(ctx context.Context, in *fhirID) (*struct{}, error) {
	export, _, err := a.findExport(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return nil, a.store.DeleteExport(ctx, export.ClinicID, export.Env, export.ID)
}
