package api

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
)

// maxIncluded is how many resources a page includes beside its matches.
const maxIncluded = 1000

// resourceTypes returns the types of the facade.
func (a *API) resourceTypes() []resourceType {
	return []resourceType{a.patientResources(), a.appointmentResources(), a.encounterResources(), a.documentResources(), a.communicationResources()}
}

// resourceTypeNamed returns the type with a name.
func (a *API) resourceTypeNamed(name string) resourceType {
	all := a.resourceTypes()
	return all[slices.IndexFunc(all, func(kind resourceType) bool { return kind.name == name })]
}

// findIncluded returns the resources that a search includes beside its matches, each once. If
// there are too many, the outcome of the search says so.
func (a *API) findIncluded(ctx context.Context, search *fhirSearch, matches []fhir.Resource) ([]fhir.Resource, error) {
	var all []fhir.Resource
	seen := map[string]bool{}
	for _, include := range fhir.ParseIncludes(search.kind.name, search.params) {
		name := include.Target
		if include.Reverse {
			name = include.Type
		}
		kind := a.resourceTypeNamed(name)
		view, err := a.newFHIRView(ctx, kind.scope) // checks the scope
		if err != nil {
			return nil, err
		}
		q := includeFilter(view, include, matches)
		q.Limit = maxIncluded + 1
		found, err := kind.find(ctx, view, q)
		if err != nil {
			return nil, err
		}
		for _, resource := range found.list {
			resourceType, id := resource.TypeAndID()
			if key := resourceType + "/" + id; !seen[key] {
				seen[key] = true
				all = append(all, resource)
			}
		}
	}
	if len(all) > maxIncluded {
		all = all[:maxIncluded]
		search.outcome = append(search.outcome, fhir.TooManyIncludedIssue(maxIncluded))
	}
	return all, nil
}

// includeFilter returns the filter of the resources that an include adds to matches.
func includeFilter(view fhirView, include fhir.Include, matches []fhir.Resource) store.ResourceFilter {
	ids := []uuid.UUID{}
	for _, match := range matches {
		_, text := match.TypeAndID()
		if !include.Reverse {
			text = fhir.ReferencedID(match, include.Param)
		}
		if id, err := uuid.Parse(text); err == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	q := store.ResourceFilter{Scope: view.scope, ForPeer: view.ForPeer, SkipCount: true}
	if include.Reverse && include.Target == fhir.TypePatient {
		q.Patients = ids
	} else { // an encounter has the id of its appointment
		q.IDs = ids
	}
	return q
}
