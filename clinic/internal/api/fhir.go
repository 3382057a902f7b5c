package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
)

// facadePath is where the FHIR facade lies under the product's base.
const facadePath = "/fhir"

// facadeChanged is when the abilities of the facade last changed.
const facadeChanged = "2026-11-20"

// reader lets administrators and connected products call; [API.facade] says what a
// key needs.
var reader = rest.Who{{module.SchemeBearer: {module.RoleAdmin}}, {module.SchemeKey: {}}}

// fhirRows are the FHIR R4 facade.
func (a *API) fhirRows() []route {
	const f = facadePath
	return []route{
		{get, f + "/metadata", rest.Anyone, 200, "fhir.metadata", "What the facade can do", fhirHandle(a, a.capabilities)},
		{get, f + "/Patient", reader, 200, "fhir.search-patients", "Search Patient", fhirHandle(a, a.searchFHIRPatients)},
		{post, f + "/Patient/_search", reader, 200, "fhir.find-patients", "Search Patient, with what names a person in the body and not in the address", fhirFormHandle(a, a.postFHIRPatients)},
		{get, f + "/Patient/{id}", reader, 200, "fhir.read-patient", "Read a Patient", fhirHandle(a, a.readFHIR(a.fhirPatients))},
		{get, f + "/Patient/{id}/$everything", reader, 200, "fhir.everything", "All of a patient's resources", a.everything},
		{get, f + "/Appointment", reader, 200, "fhir.search-appointments", "Search Appointment", fhirHandle(a, a.searchFHIR(a.fhirAppointments))},
		{get, f + "/Appointment/{id}", reader, 200, "fhir.read-appointment", "Read an Appointment", fhirHandle(a, a.readFHIR(a.fhirAppointments))},
		{get, f + "/Encounter", reader, 200, "fhir.search-encounters", "Search Encounter: appointments that took place", fhirHandle(a, a.searchFHIR(a.fhirEncounters))},
		{get, f + "/Encounter/{id}", reader, 200, "fhir.read-encounter", "Read an Encounter", fhirHandle(a, a.readFHIR(a.fhirEncounters))},
		{get, f + "/DocumentReference", reader, 200, "fhir.search-documents", "Search DocumentReference: records", fhirHandle(a, a.searchFHIR(a.fhirDocuments))},
		{get, f + "/DocumentReference/{id}", reader, 200, "fhir.read-document", "Read a DocumentReference", fhirHandle(a, a.readFHIR(a.fhirDocuments))},
		{get, f + "/Communication", reader, 200, "fhir.search-communications", "Search Communication: what happened with patients", fhirHandle(a, a.searchFHIR(a.fhirCommunications))},
		{get, f + "/Communication/{id}", reader, 200, "fhir.read-communication", "Read a Communication", fhirHandle(a, a.readFHIR(a.fhirCommunications))},
	}
}

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

// outcome is an error of the facade, as FHIR tells them.
type outcome struct {
	fhir.OperationOutcome
	status int
	detail string
}

// Error implements error.
func (o *outcome) Error() string { return o.detail }

// GetStatus implements huma.StatusError.
func (o *outcome) GetStatus() int { return o.status }

// ContentType implements huma.ContentTypeFilter.
func (*outcome) ContentType(string) string { return fhir.MediaType }

// fhirHandle binds a handler of the facade to its row. What the hub refuses before a
// handler is called has the hub's one shape; what a handler refuses has FHIR's.
func fhirHandle[I any](a *API, handler func(context.Context, *I) (any, error)) func(huma.API, huma.Operation) {
	return func(api huma.API, op huma.Operation) {
		op.Errors = append(op.Errors, http.StatusBadRequest)
		huma.Register(api, op, func(ctx context.Context, in *I) (*resourceOutput, error) {
			value, err := handler(ctx, in)
			module.OnRecord(ctx) // what finds nobody too
			if err != nil {
				return nil, a.outcomeOf(ctx, op, dberr.Failed(op.OperationID, err))
			}
			return &resourceOutput{resource{value}}, nil
		})
	}
}

// outcomeOf writes an error, with the status that the hub gives it.
func (a *API) outcomeOf(ctx context.Context, op huma.Operation, err error) error {
	status := huma.NewError(http.StatusInternalServerError, "", err).GetStatus()
	o := &outcome{status: status, detail: "Something went wrong here; it is on record."}
	code := "internal"
	var told *hub.Error
	headers := http.Header{}
	if errors.As(err, &told) {
		o.detail, code = told.Detail, told.Code
		if told.RetryAfter > 0 {
			headers.Set("Retry-After", strconv.Itoa(int((told.RetryAfter+time.Second-1)/time.Second)))
		} else if status == http.StatusServiceUnavailable {
			headers.Set("Retry-After", "1")
		}
	}
	if status >= http.StatusInternalServerError {
		a.kit.Log.ErrorContext(ctx, "a FHIR request failed", "operation", op.OperationID, "error", err)
	}
	o.OperationOutcome = fhir.Outcome(status, code, o.detail)
	return huma.ErrorWithHeaders(o, headers)
}

// facade is how somebody sees the clinic.
type facade struct {
	fhir.Reader
	at      store.Scope
	zone    *time.Location
	sources []string // of interactions; nil = all
}

func (a *API) facadeBase() string { return a.kit.URLs.Base + facadePath }

// facade is the clinic as whoever asks may see it: an administrator, or a key with
// the scope patient.read or one that is the resource's own.
func (a *API) facade(ctx context.Context, ownScope string) (facade, error) {
	at, who, err := scope(ctx)
	if err != nil {
		return facade{}, err
	}
	outside := who.UserID == uuid.Nil
	if outside && !who.Can(featurePatientRead) && !who.Can(ownScope) {
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
	if outside {
		f.sources = []string{who.Peer} // what others did with a patient is not its business
	}
	return f, nil
}

// kind is one type of resource.
type kind struct {
	name  string
	scope string // of keys
	// statuses are the clinic's for FHIR's code.
	statuses func(code string) []string
	// find gives a page, and how many there are in all.
	find func(ctx context.Context, f facade, q store.Search) (list []fhir.Resource, total int, err error)
}

func only(code, ours string) func(string) []string {
	return func(asked string) []string {
		if asked == code {
			return []string{ours}
		}
		return nil
	}
}

// writtenAs makes resources of rows, and has it on record whose they are.
func writtenAs[T any](ctx context.Context, rows []T, total int, err error, patient func(T) uuid.UUID, write func(T) (fhir.Resource, bool)) ([]fhir.Resource, int, error) {
	list := make([]fhir.Resource, 0, len(rows))
	for _, row := range rows {
		module.Concerns(ctx, patient(row).String())
		if one, ok := write(row); ok {
			list = append(list, one)
		}
	}
	return list, total, err
}

func (a *API) capabilities(context.Context, *struct{}) (any, error) {
	return fhir.Capabilities(a.facadeBase(), "1.0.0", facadeChanged), nil
}
