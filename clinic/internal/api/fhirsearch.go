package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module/rest"
)

// Sizes of pages.
const (
	usualCount = 50
	mostCount  = 200
)

// summaryCount is the _summary that only counts.
const summaryCount = "count"

// fhirID is the path of one resource. What can be no id is one that is not there.
type fhirID struct {
	ID string `path:"id"`
}

// fhirForm is a search by POST: its parameters in the body, or in the address as well.
type fhirForm struct {
	RawBody []byte `contentType:"application/x-www-form-urlencoded" required:"false" doc:"The parameters of the search by GET"`
}

// search binds a search of a type to its rows: by GET, and by POST with a form.
func (a *API) search(kinds func() kind) rest.Binder {
	of := kinds()
	return func(api huma.API, op huma.Operation) {
		if op.Method == http.MethodPost {
			op.SkipValidateBody = true // the form is read by the handler
			op.RequestBody = &huma.RequestBody{Content: make(map[string]*huma.MediaType)}
			fhirHandle(func(ctx context.Context, in *fhirForm) (any, error) { return a.found(ctx, of, string(in.RawBody)) })(api, op)
			for _, content := range op.RequestBody.Content {
				content.Schema = formOf(of.name)
			}
			return
		}
		op.Parameters = parametersOf(of.name)
		fhirHandle(func(ctx context.Context, _ *struct{}) (any, error) { return a.found(ctx, of, "") })(api, op)
	}
}

// formOf documents a search by POST.
func formOf(name string) *huma.Schema {
	form := &huma.Schema{Type: huma.TypeObject, Properties: make(map[string]*huma.Schema), AdditionalProperties: true}
	for _, param := range parametersOf(name) {
		form.Properties[param.Name] = &huma.Schema{Type: huma.TypeString, Description: param.Description}
		if param.Name == fhir.ParamCount {
			form.Properties[param.Name].Examples = []any{strconv.Itoa(usualCount)}
		}
	}
	return form
}

// parametersOf document a search by GET.
func parametersOf(name string) []*huma.Param {
	var list []*huma.Param
	add := func(name, doc string) {
		list = append(list, &huma.Param{Name: name, In: "query", Description: doc, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	for _, searchParam := range fhir.SearchParams(name) {
		doc := searchParam.Documentation
		if slices.Contains(private, searchParam.Name) {
			doc += " Addresses are logged on their way: better sent in the body of POST _search."
		}
		add(searchParam.Name, doc)
	}
	add(fhir.ParamCount, "Resources on a page, "+strconv.Itoa(usualCount)+" unless told, "+strconv.Itoa(mostCount)+" at most; 0 only counts")
	add(fhir.ParamSummary, "count only counts, false is what is sent anyway; there are no others")
	add(fhir.ParamFormat, "json is the only one there is")
	add(fhir.ParamAfter, "Of the next page; see the link in the answer")
	if name == fhir.TypePatient {
		add(fhir.ParamPage, "Sealed parameters, as the links of an answer have them")
	}
	return list
}

// found answers a search with the parameters of the address and of a form.
func (a *API) found(ctx context.Context, of kind, form string) (any, error) {
	f, err := a.facade(ctx, of.scope)
	if err != nil {
		return nil, err
	}
	asks := askingFrom(ctx)
	asked, err := asks.parameters(form)
	if err != nil {
		return nil, err
	}
	used, err := fhir.Understood(of.name, asked, asks.strict())
	if err != nil {
		return nil, mapParamError(err)
	}
	if err := asks.answerable(used.Get(fhir.ParamFormat)); err != nil {
		return nil, err
	}
	used.Del(fhir.ParamPretty)
	if page := used.Get(fhir.ParamPage); page != "" {
		used.Del(fhir.ParamFormat)
		if len(used) > 1 || of.name != fhir.TypePatient {
			return nil, misread(fhir.ParamPage, "must stand alone: it holds all the others")
		}
		if used, err = a.unsealed(f.at, page); err != nil {
			return nil, err
		}
	}
	q, err := begun(f, used)
	if err == nil {
		err = of.read(of, f, &q, used)
	}
	if err != nil {
		return nil, mapParamError(err)
	}
	written := plainQuery
	if slices.ContainsFunc(private, used.Has) {
		written = a.sealedQuery(f.at)
	}
	return a.searchset(ctx, of, f, q, used, written)
}

// begun reads what every search can ask for.
func begun(f facade, used url.Values) (store.Search, error) {
	q := store.Search{Scope: f.at, ForPeer: f.Outside, IDs: fhir.IDs(used["_id"]), Limit: usualCount}
	var err error
	if q.ChangedAt, err = spans("_lastUpdated", used, time.UTC); err != nil {
		return q, err
	}
	if count := used.Get(fhir.ParamCount); count != "" {
		if q.Limit, err = strconv.Atoi(count); err != nil || q.Limit < 0 {
			return q, misread(fhir.ParamCount, "must be a number")
		}
		q.Limit = min(q.Limit, mostCount)
		used.Set(fhir.ParamCount, strconv.Itoa(q.Limit)) // what links tell is what was done
	}
	switch used.Get(fhir.ParamSummary) {
	case "", "false":
	case summaryCount:
		q.Limit = 0
	default:
		return q, &fhir.Fault{Parameter: fhir.ParamSummary, Message: "must be count or false: other summaries are not supported", Unsupported: true}
	}
	if after := used.Get(fhir.ParamAfter); after != "" {
		if q.After, err = uuid.Parse(after); err != nil {
			return q, misread(fhir.ParamAfter, "must come from the link of another page")
		}
	}
	return q, nil
}

// spans reads a date parameter.
func spans(parameter string, used url.Values, zone *time.Location) (store.TimeFilter, error) {
	ranges, err := fhir.Ranges(used[parameter], zone)
	if err != nil {
		return nil, misread(parameter, err.Error())
	}
	return spansOf(ranges), nil
}

func spansOf(ranges [][]fhir.Range) store.TimeFilter {
	var all store.TimeFilter
	for _, either := range ranges {
		span := make([]store.TimeRange, len(either))
		for i, entry := range either {
			span[i] = store.TimeRange(entry)
		}
		all = append(all, span)
	}
	return all
}

// readOfPatients reads what searches of a patient's things can ask for.
func readOfPatients(of kind, f facade, q *store.Search, used url.Values) error {
	q.Patients = fhir.Patients(slices.Concat(used["patient"], used["patient:Patient"], used["subject"], used["subject:Patient"]), f.Base)
	for _, name := range []string{"date", "sent"} {
		at, err := spans(name, used, f.zone)
		if err != nil {
			return err
		}
		q.Time = append(q.Time, at...)
	}
	for _, value := range used["status"] {
		var either []string
		for _, alternative := range fhir.Alternatives(value) {
			token := fhir.TokenOf(alternative)
			if known := token.System == of.system; known || token.System == "" && token.Code != "" {
				either = append(either, of.statuses(token.Code)...)
			}
		}
		q.Statuses = narrowed(q.Statuses, either)
	}
	return nil
}

// narrowed are what two conditions have in common; nil, of the first, is no condition.
func narrowed(before, more []string) []string {
	all := []string{}
	for _, text := range more {
		if before == nil || slices.Contains(before, text) {
			all = append(all, text)
		}
	}
	return all
}

// plainQuery writes the parameters of a search that names nobody.
func plainQuery(used url.Values) string { return used.Encode() }

// searchset finds a page and puts it together; written is how links carry the
// parameters that were asked for.
func (a *API) searchset(ctx context.Context, of kind, f facade, q store.Search, used url.Values, written func(url.Values) string) (any, error) {
	if q.Limit > 0 {
		q.Limit++ // one more shows whether there is a next page
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
		if len(used) == 0 {
			return address
		}
		return address + "?" + written(used)
	}
	found := fhir.Found{Base: f.Base, Self: link(), At: fhir.Instant(a.host.Now()), Matches: list}
	if q.Limit == 0 || total < store.MaxCount {
		found.Total = &total // FHIR knows no "or more": it is left out
	}
	if more {
		_, last := list[len(list)-1].Name()
		used.Set(fhir.ParamAfter, last)
		found.Next = link()
	}
	return fhir.Searchset(found), nil
}

// one finds a single resource.
func (a *API) oneFHIR(ctx context.Context, of kind, f facade, text string) (fhir.Resource, error) {
	id, err := uuid.Parse(text)
	if err == nil {
		list, _, err := of.find(ctx, f, store.Search{Scope: f.at, ForPeer: f.Outside, IDs: []uuid.UUID{id}, Limit: 1, SkipCount: true})
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
