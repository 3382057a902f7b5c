package api

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

type bundleOutput struct{ Body func(huma.Context) }

// everythingBody is the body of $everything by POST.
type everythingBody struct {
	ID      string `path:"id" maxLength:"64" doc:"Names the patient"`
	RawBody []byte `contentType:"application/fhir+json" required:"false" doc:"A resource of type Parameters with start, end and _type"`
}

// bindEverything binds $everything, by GET or POST: a patient with all of its resources.
func (a *API) bindEverything(api huma.API, op huma.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: "A searchset", Content: map[string]*huma.MediaType{fhir.MediaType: {Schema: resource{}.Schema(nil)}},
	}
	answer := func(ctx context.Context, id string, body []byte) (*bundleOutput, error) {
		module.RequireAudit(ctx)
		write, err := a.prepareEverything(ctx, id, body)
		if err != nil {
			return nil, dberr.Wrap(op.OperationID, err)
		}
		return &bundleOutput{a.streamBody(op, fhir.MediaType, write)}, nil
	}
	if op.Method == http.MethodPost {
		op.SkipValidateBody = true // it is read by the handler
		op.RequestBody = &huma.RequestBody{Content: make(map[string]*huma.MediaType)}
		huma.Register(api, op, func(ctx context.Context, in *everythingBody) (*bundleOutput, error) {
			return answer(ctx, in.ID, in.RawBody)
		})
		op.RequestBody.Required = false
		for _, content := range op.RequestBody.Content {
			content.Schema = resource{}.Schema(nil)
			content.Schema.Properties["resourceType"].Enum = []any{"Parameters"}
			content.Schema.Description = "A resource of type Parameters with start, end and _type"
		}
		return
	}
	op.Parameters = append(op.Parameters, operationParameters(fhir.EverythingParams())...)
	huma.Register(api, op, func(ctx context.Context, in *fhirID) (*bundleOutput, error) { return answer(ctx, in.ID, nil) })
}

// operationParameters documents the inputs of an operation in the address.
func operationParameters(inputs []fhir.OperationParameter) (params []*huma.Param) {
	for _, input := range inputs {
		params = append(params, &huma.Param{Name: input.Name, In: "query", Description: input.Documentation, Schema: parameterSchema()})
	}
	return params
}

// prepareEverything checks a request of $everything and returns the writer of its bundle.
func (a *API) prepareEverything(ctx context.Context, patient string, body []byte) (streamWriter, error) {
	f, err := a.newFHIRView(ctx, featurePatientRead)
	if err != nil {
		return nil, err
	}
	request := fhirRequestFrom(ctx)
	params, err := request.parameters("")
	if err != nil {
		return nil, err
	}
	inBody, ok := fhir.ParseParameters(body)
	if !ok {
		return nil, invalidParameter("body", "must be a resource of type Parameters, each with a name and a text as its value")
	}
	for name, values := range inBody {
		params[name] = append(params[name], values...)
	}
	if err := request.checkAccept(params.Get(fhir.ParamFormat)); err != nil {
		return nil, err
	}
	query, err := fhir.ParseEverythingQuery(params, f.zone)
	if err != nil {
		return nil, mapParamError(err)
	}
	return a.prepareBundle(ctx, f, patient, query)
}

// prepareBundle returns the writer of a bundle with a patient's resources that a query asks
// for.
func (a *API) prepareBundle(ctx context.Context, f fhirView, patient string, query fhir.EverythingQuery) (streamWriter, error) {
	resource, err := a.findResource(ctx, a.patientResources(), f, patient)
	if err != nil {
		return nil, err
	}
	id := uuid.MustParse(patient)
	address := f.Base + "/" + fhir.TypePatient + "/" + id.String() + "/$everything"
	if query := query.Encode(); query != "" {
		address += "?" + query
	}
	head := fhir.NewSearchset(fhir.SearchPage{Base: f.Base, Self: address, Timestamp: fhir.FormatInstant(a.host.Now())})
	return func(ctx context.Context, w io.Writer) error {
		if err := writeOpenObject(w, head); err != nil {
			return err
		}
		if _, err := io.WriteString(w, `,"entry":[`); err != nil {
			return err
		}
		entries := &jsonArrayWriter{w: w}
		total := 0
		if query.Has(fhir.TypePatient) {
			total++
			if err := entries.add(fhir.NewEntry(f.Base, resource)); err != nil {
				return err
			}
		}
		for _, kind := range []resourceType{a.appointmentResources(), a.encounterResources(), a.documentResources(), a.communicationResources()} {
			if !query.Has(kind.name) {
				continue
			}
			q := store.ResourceFilter{
				Scope: f.scope, ForPeer: f.ForPeer, Patients: []uuid.UUID{id}, Time: store.TimeFilter{{store.TimeRange(query.Range)}}, Limit: itemsPerQuery, SkipCount: true,
			}
			for {
				found, err := kind.find(ctx, f, q)
				if err != nil {
					return err
				}
				for _, resource := range found.list {
					if err := entries.add(fhir.NewEntry(f.Base, resource)); err != nil {
						return err
					}
				}
				if total += len(found.list); len(found.list) < itemsPerQuery {
					break
				}
				q.Cursor = &found.cursors[len(found.cursors)-1]
			}
		}
		_, err := fmt.Fprintf(w, `],"total":%d}`, total) // known at the end only
		return err
	}, nil
}
