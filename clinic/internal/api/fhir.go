package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// fhirPath is the path of the FHIR facade below the product's base.
const fhirPath = "/fhir"

// capabilitiesReleased is the date on which the capabilities of the facade last changed.
const capabilitiesReleased = "2026-11-23"

// fhirAccess admits administrators and keys. [API.newFHIRView] checks the scopes of a key.
var fhirAccess = rest.Access{{module.SchemeBearer: {module.RoleAdmin}}, {module.SchemeKey: {}}}

// resource is a response body of the facade.
type resource struct{ value any }

// MarshalJSON implements json.Marshaler.
func (r resource) MarshalJSON() ([]byte, error) { return json.Marshal(r.value) }

// ContentType implements huma.ContentTypeFilter.
func (resource) ContentType(string) string { return fhir.MediaType }

// Schema implements huma.SchemaProvider: http://hl7.org/fhir/R4 has the rest.
func (resource) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, Description: "A FHIR R4 resource", AdditionalProperties: true, Required: []string{"resourceType"},
		Properties: map[string]*huma.Schema{"resourceType": {Type: huma.TypeString, Description: "Name of the FHIR type, such as Patient"}},
	}
}

type resourceOutput struct{ Body resource }

// ErrorFormats returns the format of the facade's errors, for requests that no operation takes.
func ErrorFormats() map[string]module.ErrorFormat {
	return map[string]module.ErrorFormat{fhirPath: outcomeFormat}
}

// outcomeFormat writes errors of the facade as an OperationOutcome, also those of middleware.
var outcomeFormat = module.ErrorFormat{MediaType: fhir.MediaType, Write: func(e module.ErrorResponse) any {
	parameters := rest.Map(e.Locations, func(location string) string { return strings.TrimPrefix(location, parameterPrefix) })
	return fhir.NewOutcome(e.Status, e.Code, e.Detail, parameters...)
}}

// withOutcomeErrors makes an operation answer errors as an OperationOutcome, and documents it.
func withOutcomeErrors(bind rest.Binder) rest.Binder {
	return func(api huma.API, op huma.Operation) {
		op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusNotAcceptable)
		op.Middlewares = append(op.Middlewares, withFHIRRequest)
		op.Metadata = map[string]any{module.MetadataErrorFormat: outcomeFormat}
		if op.Responses == nil {
			op.Responses = make(map[string]*huma.Response)
		}
		bind(api, op)
		for status, answer := range op.Responses {
			if status < "400" {
				continue
			}
			answer.Content = map[string]*huma.MediaType{fhir.MediaType: {Schema: outcomeSchema()}}
		}
	}
}

// outcomeSchema returns the documented schema of an error.
func outcomeSchema() *huma.Schema {
	s := resource{}.Schema(nil)
	s.Description = "A FHIR R4 OperationOutcome"
	s.Properties["resourceType"].Enum = []any{"OperationOutcome"}
	return s
}

// handleFHIR binds a handler of the facade to its route.
func handleFHIR[I any](handler func(context.Context, *I) (any, error)) rest.Binder {
	return func(api huma.API, op huma.Operation) {
		withOutcomeErrors(rest.Handle(func(ctx context.Context, in *I) (*resourceOutput, error) {
			value, err := handleAcceptable(ctx, op, in, handler)
			module.RequireAudit(ctx) // also if no patient is found
			return &resourceOutput{resource{value}}, err
		}))(api, op)
	}
}

// handleAcceptable checks the Accept header of requests that are no POST, then calls the handler.
// POST handlers check their own.
func handleAcceptable[I any](ctx context.Context, op huma.Operation, in *I, handler func(context.Context, *I) (any, error)) (any, error) {
	if op.Method != http.MethodPost {
		request := fhirRequestFrom(ctx)
		params, err := request.parameters("")
		if err == nil {
			err = request.checkAccept(params.Get(fhir.ParamFormat))
		}
		if err != nil {
			return nil, err
		}
	}
	return handler(ctx, in)
}

// fhirView is the clinic's data as one caller may read it.
type fhirView struct {
	fhir.Converter
	scope   store.Scope
	zone    *time.Location
	sources []string // of interactions; nil = all
	// skipUnreadable is called for a resource that cannot be decrypted, which is left out then.
	// Without it, reading fails.
	skipUnreadable func(id uuid.UUID, err error)
}

func (a *API) fhirBase() string { return a.host.URLs.Base + fhirPath }

// newFHIRView returns the view of an administrator, or of a key with the scope patient.read or
// the resource's own. Other keys are a [hub.ErrForbidden].
func (a *API) newFHIRView(ctx context.Context, ownScope string) (fhirView, error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return fhirView{}, err
	}
	if err := checkReadScope(caller, ownScope); err != nil {
		return fhirView{}, err
	}
	return a.viewFor(ctx, scope, caller.UserID == uuid.Nil, caller.Peer)
}

// checkReadScope is a [hub.ErrForbidden] for keys without the scopes of [API.newFHIRView].
func checkReadScope(caller module.Caller, ownScope string) error {
	if caller.UserID == uuid.Nil && !caller.HasScope(featurePatientRead) && !caller.HasScope(ownScope) {
		return hub.Errorf(hub.ErrForbidden, "missing_scope", "This key lacks the scope %s; issue a key that has it.", ownScope)
	}
	return nil
}

// viewFor returns the view of an administrator, or of a key of a product, "" for none.
func (a *API) viewFor(ctx context.Context, scope store.Scope, forPeer bool, peer string) (fhirView, error) {
	clinic, err := a.store.Clinic(ctx, scope.Clinic)
	if err != nil {
		return fhirView{}, err
	}
	zone, err := time.LoadLocation(clinic.Timezone)
	if err != nil {
		return fhirView{}, err
	}
	f := fhirView{Converter: fhir.Converter{Base: a.fhirBase(), Clinic: clinic.Name, ForPeer: forPeer}, scope: scope, zone: zone}
	if forPeer { // a product sees its own interactions only; a key of no product sees none
		f.sources = []string{}
		if peer != "" {
			f.sources = []string{peer}
		}
	}
	return f, nil
}

// resourceType is one type of FHIR resource.
type resourceType struct {
	name  string
	scope string // of keys
	// statuses returns the clinic's statuses for a FHIR code of the system; all for "".
	system   string
	statuses func(code string) []string
	// parse adds the conditions of the type's own parameters to a filter.
	parse func(kind resourceType, f fhirView, q *store.ResourceFilter, used url.Values) error
	// find returns a page of resources.
	find func(ctx context.Context, f fhirView, q store.ResourceFilter) (foundResources, error)
}

// foundResources is a page of resources.
type foundResources struct {
	list    []fhir.Resource
	cursors []store.Cursor // at each of them
	total   int
	end     *store.Cursor // of the page, also if its last rows have no resource; nil = no rows
}

func singleStatus(code, status string) func(string) []string {
	return func(requested string) []string {
		if requested == code || requested == "" {
			return []string{status}
		}
		return nil
	}
}

// toResources converts rows to resources, and records their patients in the audit log.
func toResources[T any](ctx context.Context, rows []T, total int, patient func(T) uuid.UUID, cursor func(T) store.Cursor, write func(T) (fhir.Resource, bool)) foundResources {
	found := foundResources{list: make([]fhir.Resource, 0, len(rows)), total: total}
	for _, row := range rows {
		end := cursor(row)
		found.end = &end
		module.SetSubject(ctx, patient(row).String())
		if resource, ok := write(row); ok {
			found.list, found.cursors = append(found.list, resource), append(found.cursors, cursor(row))
		}
	}
	return found
}

func (a *API) capabilities(context.Context, *struct{}) (fhir.Resource, error) {
	return fhir.NewCapabilityStatement(a.fhirBase(), "1.0.0", capabilitiesReleased), nil
}

func (a *API) everythingDefinition(context.Context, *struct{}) (fhir.Resource, error) {
	return fhir.NewEverythingDefinition(a.fhirBase(), capabilitiesReleased), nil
}
