package api

import (
	"context"
	"encoding/json"
	"maps"
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

// fhirPath is where the FHIR facade lies under the product's base.
const fhirPath = "/fhir"

// capabilitiesReleased is when the abilities of the facade last changed.
const capabilitiesReleased = "2026-11-22"

// fhirAccess lets administrators and connected products call; [API.newFHIRView] says what a
// key needs.
var fhirAccess = rest.Access{{module.SchemeBearer: {module.RoleAdmin}}, {module.SchemeKey: {}}}

// resource is an answer of the facade.
type resource struct{ value any }

// MarshalJSON implements json.Marshaler.
func (r resource) MarshalJSON() ([]byte, error) { return json.Marshal(r.value) }

// ContentType implements huma.ContentTypeFilter.
func (resource) ContentType(string) string { return fhir.MediaType }

// Schema implements huma.SchemaProvider: http://hl7.org/fhir/R4 has the rest.
func (resource) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, Description: "A FHIR R4 resource", AdditionalProperties: true, Required: []string{"resourceType"},
		Properties: map[string]*huma.Schema{"resourceType": {Type: huma.TypeString}},
	}
}

type resourceOutput struct{ Body resource }

// outcomeFormat are the errors of the facade, whoever refuses a request to it.
var outcomeFormat = module.ErrorFormat{MediaType: fhir.MediaType, Write: func(e module.ErrorResponse) any {
	parameters := rest.Map(e.Locations, func(location string) string { return strings.TrimPrefix(location, parameterPrefix) })
	return fhir.NewOutcome(e.Status, e.Code, e.Detail, parameters...)
}}

// withOutcomeErrors documents how the facade answers, as well as does it.
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
			content := map[string]*huma.MediaType{fhir.MediaType: {Schema: outcomeSchema()}}
			if status == "413" { // refused before it is known what it was for
				maps.Copy(content, answer.Content)
			}
			answer.Content = content
		}
	}
}

// outcomeSchema is what is documented of an error.
func outcomeSchema() *huma.Schema {
	s := resource{}.Schema(nil)
	s.Description = "A FHIR R4 OperationOutcome"
	s.Properties["resourceType"].Enum = []any{"OperationOutcome"}
	return s
}

// handleFHIR binds a handler of the facade to its row.
func handleFHIR[I any](handler func(context.Context, *I) (any, error)) rest.Binder {
	return func(api huma.API, op huma.Operation) {
		withOutcomeErrors(rest.Handle(func(ctx context.Context, in *I) (*resourceOutput, error) {
			value, err := handleAcceptable(ctx, op, in, handler)
			module.RequireAudit(ctx) // what finds nobody too
			return &resourceOutput{resource{value}}, err
		}))(api, op)
	}
}

// handleAcceptable has a handler answer who can read the answer. What a form asks for, its
// handler knows.
func handleAcceptable[I any](ctx context.Context, op huma.Operation, in *I, handler func(context.Context, *I) (any, error)) (any, error) {
	if op.Method == http.MethodGet {
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

// fhirView is how somebody sees the clinic.
type fhirView struct {
	fhir.Converter
	scope   store.Scope
	zone    *time.Location
	sources []string // of interactions; nil = all
}

func (a *API) fhirBase() string { return a.host.URLs.Base + fhirPath }

// newFHIRView is the clinic as whoever asks may see it: an administrator, or a key with
// the scope patient.read or one that is the resource's own.
func (a *API) newFHIRView(ctx context.Context, ownScope string) (fhirView, error) {
	scope, caller, err := requestScope(ctx)
	if err != nil {
		return fhirView{}, err
	}
	forPeer := caller.UserID == uuid.Nil
	if forPeer && !caller.HasScope(featurePatientRead) && !caller.HasScope(ownScope) {
		return fhirView{}, hub.Errorf(hub.ErrForbidden, "missing_scope", "This key lacks the scope %s.", ownScope)
	}
	clinic, err := a.store.Clinic(ctx, scope.Clinic)
	if err != nil {
		return fhirView{}, err
	}
	zone, err := time.LoadLocation(clinic.Timezone)
	if err != nil {
		return fhirView{}, err
	}
	f := fhirView{Converter: fhir.Converter{Base: a.fhirBase(), Clinic: clinic.Name, ForPeer: forPeer}, scope: scope, zone: zone}
	if forPeer { // what others did with a patient is not its business; a key of no product's is nobody
		f.sources = []string{}
		if caller.Peer != "" {
			f.sources = []string{caller.Peer}
		}
	}
	return f, nil
}

// resourceType is one type of resource.
type resourceType struct {
	name  string
	scope string // of keys
	// statuses are the clinic's for FHIR's code, which belongs to system; "" is any.
	system   string
	statuses func(code string) []string
	// parse reads what a search of it asks for, beside what all can ask for.
	parse func(of resourceType, f fhirView, q *store.ResourceFilter, used url.Values) error
	// find gives a page, and how many there are in all.
	find func(ctx context.Context, f fhirView, q store.ResourceFilter) (list []fhir.Resource, total int, err error)
}

func singleStatus(code, status string) func(string) []string {
	return func(requested string) []string {
		if requested == code || requested == "" {
			return []string{status}
		}
		return nil
	}
}

// toResources makes resources of rows, and has it on record whose they are.
func toResources[T any](ctx context.Context, rows []T, total int, err error, patient func(T) uuid.UUID, write func(T) (fhir.Resource, bool)) ([]fhir.Resource, int, error) {
	list := make([]fhir.Resource, 0, len(rows))
	for _, row := range rows {
		module.SetSubject(ctx, patient(row).String())
		if resource, ok := write(row); ok {
			list = append(list, resource)
		}
	}
	return list, total, err
}

func (a *API) capabilities(context.Context, *struct{}) (any, error) {
	return fhir.NewCapabilityStatement(a.fhirBase(), "1.0.0", capabilitiesReleased), nil
}

func (a *API) everythingDefinition(context.Context, *struct{}) (any, error) {
	return fhir.NewEverythingDefinition(a.fhirBase(), capabilitiesReleased), nil
}
