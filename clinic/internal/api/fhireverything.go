package api

import (
	"context"
	"fmt"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

type bundleOutput struct{ Body func(huma.Context) }

// everything binds the operation that gives a patient with all that belongs to it.
func (a *API) everything(api huma.API, op huma.Operation) {
	for _, everythingParam := range fhir.EverythingParams() {
		op.Parameters = append(op.Parameters, &huma.Param{Name: everythingParam.Name, In: "query", Description: everythingParam.Documentation, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	op.Responses["200"] = &huma.Response{
		Description: "A searchset", Content: map[string]*huma.MediaType{fhir.MediaType: {Schema: resource{}.Schema(nil)}},
	}
	huma.Register(api, op, func(ctx context.Context, in *fhirID) (*bundleOutput, error) {
		module.RequireAudit(ctx)
		write, err := a.askedBundle(ctx, in.ID)
		if err != nil {
			return nil, dberr.Wrap(op.OperationID, err)
		}
		return &bundleOutput{a.streamed(op, fhir.MediaType, write)}, nil
	})
}

// askedBundle begins to write as much of a patient as is asked for.
func (a *API) askedBundle(ctx context.Context, patient string) (writing, error) {
	f, err := a.facade(ctx, featurePatientRead)
	if err != nil {
		return nil, err
	}
	asks := askingFrom(ctx)
	asked, err := asks.parameters("")
	if err != nil {
		return nil, err
	}
	if err := asks.answerable(asked.Get(fhir.ParamFormat)); err != nil {
		return nil, err
	}
	extent, err := fhir.ExtentOf(asked, f.zone)
	if err != nil {
		return nil, mapParamError(err)
	}
	return a.bundle(ctx, f, patient, extent)
}

// bundle begins to write a patient with what is asked for of all that belongs to it.
func (a *API) bundle(ctx context.Context, f facade, patient string, extent fhir.Extent) (writing, error) {
	resource, err := a.oneFHIR(ctx, a.fhirPatients(), f, patient)
	if err != nil {
		return nil, err
	}
	id := uuid.MustParse(patient)
	address := f.Base + "/" + fhir.TypePatient + "/" + id.String() + "/$everything"
	if query := extent.Query(); query != "" {
		address += "?" + query
	}
	head := fhir.Searchset(fhir.Found{Base: f.Base, Self: address, At: fhir.Instant(a.host.Now())})
	return func(ctx context.Context, w io.Writer) error {
		if err := opened(w, head); err != nil {
			return err
		}
		if _, err := io.WriteString(w, `,"entry":[`); err != nil {
			return err
		}
		entries := &series{w: w}
		total := 0
		if extent.Has(fhir.TypePatient) {
			total++
			if err := entries.add(fhir.EntryOf(f.Base, resource)); err != nil {
				return err
			}
		}
		for _, of := range []kind{a.fhirAppointments(), a.fhirEncounters(), a.fhirDocuments(), a.fhirCommunications()} {
			if !extent.Has(of.name) {
				continue
			}
			q := store.Search{
				Scope: f.at, ForPeer: f.Outside, Patients: []uuid.UUID{id}, Time: store.TimeFilter{{store.TimeRange(extent.Range)}}, Limit: everythingPage, SkipCount: true,
			}
			for {
				list, _, err := of.find(ctx, f, q)
				if err != nil {
					return err
				}
				for _, entry := range list {
					if err := entries.add(fhir.EntryOf(f.Base, entry)); err != nil {
						return err
					}
				}
				if total += len(list); len(list) < everythingPage {
					break
				}
				_, last := list[len(list)-1].Name()
				q.After = uuid.MustParse(last)
			}
		}
		_, err := fmt.Fprintf(w, `],"total":%d}`, total) // known at the end only
		return err
	}, nil
}
