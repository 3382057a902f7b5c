package api

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/brazil"
	"integrationhub/hub/module/rest"
)

// emptyAsNull treats "" in a nullable text as null.
func emptyAsNull(n rest.Nullable[string]) rest.Nullable[string] {
	if n.Value = strings.TrimSpace(n.Value); n.Value == "" && n.Set {
		n.Null = true
	}
	return n
}

// redactInput returns a text that a user entered as it is stored. Lengths are checked after
// it.
func redactInput(input string) string { return care.RedactCPFs(strings.TrimSpace(input)) }

// clockSkew is how far callers' clocks may be ahead of the hub's.
const clockSkew = 5 * time.Minute

// requirePatient is a [hub.ErrNotFound] if the clinic has no such patient.
func (a *API) requirePatient(ctx context.Context, scope store.Scope, id uuid.UUID) error {
	_, err := a.store.Patient(ctx, scope.Clinic, scope.Env, id)
	return rest.NotFoundIfNoRows("Patient", err)
}

// uncountedPage selects a page of a short list that is returned without a total.
type uncountedPage struct {
	Page    int `query:"page" minimum:"1" maximum:"100000" default:"1" doc:"Which part of the list, from 1"`
	PerPage int `query:"per_page" minimum:"1" maximum:"500" default:"500" doc:"A page that is not full is the last"`
}

func (p uncountedPage) toPage() store.Page {
	return store.Page{Limit: p.PerPage, Offset: (p.Page - 1) * p.PerPage}
}

// PatientItemsInput asks for a page of a patient's items. It is exported because huma binds no
// unexported embedded struct.
type PatientItemsInput struct {
	rest.IDParam
	rest.PageParams
}

// completePhone completes a number with the clinic's default area code and checks it.
func (a *API) completePhone(ctx context.Context, scope store.Scope, errs *rest.FieldErrors, phone *string, location string) (err error) {
	*phone, err = a.store.CompletePhone(ctx, scope.Clinic, *phone)
	problem := brazil.PhoneProblem(*phone, "")
	errs.Check(problem == "", location, problem)
	return err
}
