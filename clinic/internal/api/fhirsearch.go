package api

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
)

// Sizes of pages.
const (
	usualCount = 50
	mostCount  = 200
)

// fhirID is the path of one resource. What can be no id is one that is not there.
type fhirID struct {
	ID string `path:"id"`
}

// FHIRSearch is what every search can ask for.
type FHIRSearch struct {
	IDs     []string `query:"_id,explode" doc:"Ids, with commas between them"`
	Changed []string `query:"_lastUpdated,explode" doc:"ge2026-03-01"`
	Count   string   `query:"_count" doc:"Resources on a page, 200 at most; 0 only counts" example:"50"`
	After   string   `query:"_after" doc:"Of the next page; see the link in the answer"`
}

type fhirThingSearch struct {
	FHIRSearch
	Patient string   `query:"patient" doc:"An id, or Patient/ and an id"`
	Subject string   `query:"subject" doc:"The same"`
	Date    []string `query:"date,explode" doc:"2026-03-02, ge2026-03-02, lt2026-03-02T12:00:00Z; several narrow it down"`
	Sent    []string `query:"sent,explode" doc:"The same, of Communication"`
	Status  []string `query:"status,explode" doc:"FHIR's codes, with commas between them"`
}

// misread is a parameter that cannot be understood.
func misread(parameter, message string) *hub.Error {
	e := hub.Errorf(hub.ErrMalformed, "invalid_parameter", "%s %s", parameter, message)
	e.Fields = []hub.FieldError{{Location: "query." + parameter, Message: message}}
	return e
}

// begin reads what every search can ask for.
func (in *FHIRSearch) begin(f facade) (store.Search, error) {
	q := store.Search{Scope: f.at, Outside: f.Outside, Limit: usualCount}
	if len(in.IDs) > 0 {
		q.IDs = fhir.IDs(in.IDs)
	}
	var err error
	if q.Changed, err = span("_lastUpdated", in.Changed, time.UTC); err != nil {
		return q, err
	}
	if in.Count != "" {
		if q.Limit, err = strconv.Atoi(in.Count); err != nil || q.Limit < 0 {
			return q, misread("_count", "must be a number")
		}
		q.Limit = min(q.Limit, mostCount)
	}
	if in.After != "" {
		if q.After, err = uuid.Parse(in.After); err != nil {
			return q, misread("_after", "must come from the link of another page")
		}
	}
	return q, nil
}

func span(parameter string, values []string, zone *time.Location) (store.Span, error) {
	r, err := fhir.Ranges(values, zone)
	if err != nil {
		return store.Span{}, misread(parameter, err.Error())
	}
	return store.Span(r), nil
}

// asked are the parameters of a search, for the links of its pages.
func (in *FHIRSearch) asked() url.Values {
	v := url.Values{}
	keep(v, "_id", in.IDs...)
	keep(v, "_lastUpdated", in.Changed...)
	keep(v, "_count", in.Count)
	keep(v, "_after", in.After)
	return v
}

func keep(v url.Values, name string, values ...string) {
	for _, one := range values {
		if one != "" {
			v.Add(name, one)
		}
	}
}

// searchFHIR searches what belongs to patients.
func (a *API) searchFHIR(kinds func() kind) func(context.Context, *fhirThingSearch) (any, error) {
	of := kinds()
	return func(ctx context.Context, in *fhirThingSearch) (any, error) {
		f, err := a.facade(ctx, of.scope)
		if err != nil {
			return nil, err
		}
		q, err := in.begin(f)
		if err != nil {
			return nil, err
		}
		asked := in.asked()
		for name, value := range map[string]string{"patient": in.Patient, "subject": in.Subject} {
			if value == "" {
				continue
			}
			id, ok := fhir.PatientID(value, f.Base)
			if !ok || q.Patient != nil && *q.Patient != id {
				q.IDs = []uuid.UUID{}
			}
			q.Patient = &id
			keep(asked, name, value)
		}
		if q.At, err = span("date", append(in.Date, in.Sent...), f.zone); err != nil {
			return nil, err
		}
		keep(asked, "date", in.Date...)
		keep(asked, "sent", in.Sent...)
		if len(in.Status) > 0 {
			q.Statuses = []string{}
			for code := range strings.SplitSeq(strings.Join(in.Status, ","), ",") {
				_, code = fhir.Token(code)
				q.Statuses = append(q.Statuses, of.statuses(code)...)
			}
			keep(asked, "status", in.Status...)
		}
		return a.searchset(ctx, of, f, q, asked, plainQuery)
	}
}

// plainQuery writes the parameters of a search that names nobody.
func plainQuery(asked url.Values) string { return asked.Encode() }

// searchset finds a page and puts it together; written is how links carry the
// parameters that were asked for.
func (a *API) searchset(ctx context.Context, of kind, f facade, q store.Search, asked url.Values, written func(url.Values) string) (any, error) {
	if q.Limit > 0 {
		q.Limit++ // one more tells whether there is a next page
	}
	list, total, err := of.find(ctx, f, q)
	if err != nil {
		return nil, err
	}
	more := q.Limit > 0 && len(list) == q.Limit
	if more {
		list = list[:len(list)-1]
	}
	link := func() string {
		address := f.Base + "/" + of.name
		if len(asked) == 0 {
			return address
		}
		return address + "?" + written(asked)
	}
	found := fhir.Found{Base: f.Base, Self: link(), At: fhir.Instant(a.kit.Now()), Matches: list}
	if q.Limit == 0 || total < store.CountedAtMost {
		found.Total = &total // FHIR knows no "or more": it is left out
	}
	if more {
		_, last := list[len(list)-1].Name()
		asked.Set("_after", last)
		found.Next = link()
	}
	return fhir.Searchset(found), nil
}

// one finds a single resource.
func (a *API) oneFHIR(ctx context.Context, of kind, f facade, text string) (fhir.Resource, error) {
	id, err := uuid.Parse(text)
	if err == nil {
		list, _, err := of.find(ctx, f, store.Search{Scope: f.at, Outside: f.Outside, IDs: []uuid.UUID{id}, Limit: 1, Uncounted: true})
		if err != nil || len(list) == 1 {
			return first(list), err
		}
	}
	return nil, hub.Errorf(hub.ErrNotFound, "not_found", "%s not found", of.name)
}

func first(list []fhir.Resource) fhir.Resource {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// readFHIR reads one resource.
func (a *API) readFHIR(kinds func() kind) func(context.Context, *fhirID) (any, error) {
	of := kinds()
	return func(ctx context.Context, in *fhirID) (any, error) {
		f, err := a.facade(ctx, of.scope)
		if err != nil {
			return nil, err
		}
		return a.oneFHIR(ctx, of, f, in.ID)
	}
}
