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

// facadePath is where the FHIR facade lies under the product's base.
const facadePath = "/fhir"

// facadeChanged is when the abilities of the facade last changed.
const facadeChanged = "2026-11-22"

// reader lets administrators and connected products call; [API.facade] says what a
// key needs.
var reader = rest.Access{{module.SchemeBearer: {module.RoleAdmin}}, {module.SchemeKey: {}}}

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

// outcomes are the errors of the facade, whoever refuses a request to it.
var outcomes = module.ErrorFormat{MediaType: fhir.MediaType, Write: func(e module.ErrorResponse) any {
	wrong := rest.Map(e.Locations, func(location string) string { return strings.TrimPrefix(location, parameterPrefix) })
	return fhir.Outcome(e.Status, e.Code, e.Detail, wrong...)
}}

// withOutcomes documents how the facade answers, as well as does it.
func withOutcomes(bind rest.Binder) rest.Binder {
	return func(api huma.API, op huma.Operation) {
		op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusNotAcceptable)
		op.Middlewares = append(op.Middlewares, noteAsking)
		op.Metadata = map[string]any{module.MetadataErrorFormat: outcomes}
		if op.Responses == nil {
			op.Responses = make(map[string]*huma.Response)
		}
		bind(api, op)
		for status, answer := range op.Responses {
			if status < "400" {
				continue
			}
			told := map[string]*huma.MediaType{fhir.MediaType: {Schema: outcomeSchema()}}
			if status == "413" { // refused before it is known what it was for
				maps.Copy(told, answer.Content)
			}
			answer.Content = told
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

// fhirHandle binds a handler of the facade to its row.
func fhirHandle[I any](handler func(context.Context, *I) (any, error)) rest.Binder {
	return func(api huma.API, op huma.Operation) {
		withOutcomes(rest.Handle(func(ctx context.Context, in *I) (*resourceOutput, error) {
			value, err := answered(ctx, op, in, handler)
			module.RequireAudit(ctx) // what finds nobody too
			return &resourceOutput{resource{value}}, err
		}))(api, op)
	}
}

// answered has a handler answer who can read the answer. What a form asks for, its
// handler knows.
func answered[I any](ctx context.Context, op huma.Operation, in *I, handler func(context.Context, *I) (any, error)) (any, error) {
	if op.Method == http.MethodGet {
		asks := askingFrom(ctx)
		asked, err := asks.parameters("")
		if err == nil {
			err = asks.answerable(asked.Get(fhir.ParamFormat))
		}
		if err != nil {
			return nil, err
		}
	}
	return handler(ctx, in)
}

// facade is how somebody sees the clinic.
type facade struct {
	fhir.Reader
	at      store.Scope
	zone    *time.Location
	sources []string // of interactions; nil = all
}

func (a *API) facadeBase() string { return a.host.URLs.Base + facadePath }

// facade is the clinic as whoever asks may see it: an administrator, or a key with
// the scope patient.read or one that is the resource's own.
func (a *API) facade(ctx context.Context, ownScope string) (facade, error) {
	at, who, err := scope(ctx)
	if err != nil {
		return facade{}, err
	}
	outside := who.UserID == uuid.Nil
	if outside && !who.HasScope(featurePatientRead) && !who.HasScope(ownScope) {
		return facade{}, hub.Errorf(hub.ErrForbidden, "missing_scope", "This key lacks the scope %s.", ownScope)
	}
	clinic, err := a.store.Clinic(ctx, at.Clinic)
	if err != nil {
		return facade{}, err
	}
	zone, err := time.LoadLocation(clinic.Timezone)
	if err != nil {
		return facade{}, err
	}
	f := facade{Reader: fhir.Reader{Base: a.facadeBase(), Clinic: clinic.Name, Outside: outside}, at: at, zone: zone}
	if outside { // what others did with a patient is not its business; a key of no product's is nobody
		f.sources = []string{}
		if who.Peer != "" {
			f.sources = []string{who.Peer}
		}
	}
	return f, nil
}

// kind is one type of resource.
type kind struct {
	name  string
	scope string // of keys
	// statuses are the clinic's for FHIR's code, which belongs to system; "" is any.
	system   string
	statuses func(code string) []string
	// read reads what a search of it asks for, beside what all can ask for.
	read func(of kind, f facade, q *store.Search, used url.Values) error
	// find gives a page, and how many there are in all.
	find func(ctx context.Context, f facade, q store.Search) (list []fhir.Resource, total int, err error)
}

func only(code, ours string) func(string) []string {
	return func(asked string) []string {
		if asked == code || asked == "" {
			return []string{ours}
		}
		return nil
	}
}

// writtenAs makes resources of rows, and has it on record whose they are.
func writtenAs[T any](ctx context.Context, rows []T, total int, err error, patient func(T) uuid.UUID, write func(T) (fhir.Resource, bool)) ([]fhir.Resource, int, error) {
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
	return fhir.Capabilities(a.facadeBase(), "1.0.0", facadeChanged), nil
}

func (a *API) everythingDefinition(context.Context, *struct{}) (any, error) {
	return fhir.EverythingDefinition(a.facadeBase(), facadeChanged), nil
}
