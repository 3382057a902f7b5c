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
	op.Responses["200"] = &huma.Response{
		Description: "A searchset", Content: map[string]*huma.MediaType{fhir.MediaType: {Schema: resource{}.Schema(nil)}},
	}
	huma.Register(api, op, func(ctx context.Context, in *fhirID) (*bundleOutput, error) {
		if who, known := module.CallerFrom(ctx); known && who.UserID != uuid.Nil {
			module.OnRecord(ctx)
		}
		f, err := a.facade(ctx, featurePatientRead)
		if err == nil {
			var write writing
			if write, err = a.bundle(ctx, f, in.ID); err == nil {
				return &bundleOutput{a.streamed(op, fhir.MediaType, write)}, nil
			}
		}
		return nil, dberr.Failed(op.OperationID, err)
	})
}

// bundle begins to write a patient with all that belongs to it.
func (a *API) bundle(ctx context.Context, f facade, patient string) (writing, error) {
	one, err := a.oneFHIR(ctx, a.fhirPatients(), f, patient)
	if err != nil {
		return nil, err
	}
	id := uuid.MustParse(patient)
	address := f.Base + "/" + fhir.TypePatient + "/" + id.String() + "/$everything"
	head := fhir.Searchset(fhir.Found{Base: f.Base, Self: address, At: fhir.Instant(a.kit.Now())})
	return func(ctx context.Context, w io.Writer) error {
		if err := opened(w, head); err != nil {
			return err
		}
		if _, err := io.WriteString(w, `,"entry":[`); err != nil {
			return err
		}
		entries := &series{w: w}
		if err := entries.add(fhir.EntryOf(f.Base, one)); err != nil {
			return err
		}
		total := 1
		for _, of := range []kind{a.fhirAppointments(), a.fhirEncounters(), a.fhirDocuments(), a.fhirCommunications()} {
			q := store.Search{Scope: f.at, Outside: f.Outside, Patient: &id, Limit: everythingPage, Uncounted: true}
			for {
				list, _, err := of.find(ctx, f, q)
				if err != nil {
					return err
				}
				for _, one := range list {
					if err := entries.add(fhir.EntryOf(f.Base, one)); err != nil {
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
