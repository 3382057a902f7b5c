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
	defaultCount = 50
	maxCount     = 200
)

// summaryCount is the value of _summary that only counts.
const summaryCount = "count"

// fhirID has the path of one resource. An id that is no UUID is not found.
type fhirID struct {
	ID string `path:"id"`
}

// fhirForm is the body of a search by POST. The address may have parameters too.
type fhirForm struct {
	RawBody []byte `contentType:"application/x-www-form-urlencoded" required:"false" doc:"The parameters of the search by GET"`
}

// bindFHIRSearch binds the searches of a type: by GET, and by POST with a form.
func (a *API) bindFHIRSearch(kinds func() resourceType) rest.Binder {
	of := kinds()
	return func(api huma.API, op huma.Operation) {
		if op.Method == http.MethodPost {
			op.SkipValidateBody = true // the form is read by the handler
			op.RequestBody = &huma.RequestBody{Content: make(map[string]*huma.MediaType)}
			handleFHIR(func(ctx context.Context, in *fhirForm) (any, error) {
				return a.handleFHIRSearch(ctx, of, string(in.RawBody))
			})(api, op)
			for _, content := range op.RequestBody.Content {
				content.Schema = searchFormSchema(of.name)
			}
			return
		}
		op.Parameters = searchParameters(of.name)
		handleFHIR(func(ctx context.Context, _ *struct{}) (any, error) { return a.handleFHIRSearch(ctx, of, "") })(api, op)
	}
}

// searchFormSchema documents the form of a search by POST.
func searchFormSchema(name string) *huma.Schema {
	form := &huma.Schema{Type: huma.TypeObject, Properties: make(map[string]*huma.Schema), AdditionalProperties: true}
	for _, param := range searchParameters(name) {
		form.Properties[param.Name] = &huma.Schema{Type: huma.TypeString, Description: param.Description}
		if param.Name == fhir.ParamCount {
			form.Properties[param.Name].Examples = []any{strconv.Itoa(defaultCount)}
		}
	}
	return form
}

// searchParameters documents the parameters of a search by GET.
func searchParameters(name string) []*huma.Param {
	var list []*huma.Param
	add := func(name, doc string) {
		list = append(list, &huma.Param{Name: name, In: "query", Description: doc, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	for _, searchParam := range fhir.SearchParams(name) {
		doc := searchParam.Documentation
		if slices.Contains(personParameters, searchParam.Name) {
			doc += " Addresses are logged on their way: better sent in the body of POST _search."
		}
		add(searchParam.Name, doc)
	}
	add(fhir.ParamCount, "Resources on a page, "+strconv.Itoa(defaultCount)+" by default, "+strconv.Itoa(maxCount)+" at most; 0 only counts")
	add(fhir.ParamSummary, "count only counts, false is what is sent anyway; there are no others")
	add(fhir.ParamFormat, "json is the only one there is")
	add(fhir.ParamAfter, "Of the next page; see the link in the answer")
	if name == fhir.TypePatient {
		add(fhir.ParamPage, "Sealed parameters, as the links of an answer have them")
	}
	return list
}

// handleFHIRSearch answers a search with the parameters of the address and of a form.
func (a *API) handleFHIRSearch(ctx context.Context, of resourceType, form string) (any, error) {
	f, err := a.newFHIRView(ctx, of.scope)
	if err != nil {
		return nil, err
	}
	request := fhirRequestFrom(ctx)
	requested, err := request.parameters(form)
	if err != nil {
		return nil, err
	}
	params, err := fhir.ParseSearchParams(of.name, requested, request.isStrict())
	if err != nil {
		return nil, mapParamError(err)
	}
	if err := request.checkAccept(params.Get(fhir.ParamFormat)); err != nil {
		return nil, err
	}
	params.Del(fhir.ParamPretty)
	if page := params.Get(fhir.ParamPage); page != "" {
		params.Del(fhir.ParamFormat)
		if len(params) > 1 || of.name != fhir.TypePatient {
			return nil, invalidParameter(fhir.ParamPage, "must stand alone: it holds all the others")
		}
		if params, err = a.openQuery(f.scope, page); err != nil {
			return nil, err
		}
	}
	q, err := commonFilter(f, params)
	if err == nil {
		err = of.parse(of, f, &q, params)
	}
	if err != nil {
		return nil, mapParamError(err)
	}
	encodeQuery := encodePlain
	if slices.ContainsFunc(personParameters, params.Has) {
		encodeQuery = a.sealQuery(f.scope)
	}
	return a.searchset(ctx, of, f, q, params, encodeQuery)
}

// commonFilter returns a filter with the conditions that all types share.
func commonFilter(f fhirView, params url.Values) (store.ResourceFilter, error) {
	q := store.ResourceFilter{Scope: f.scope, ForPeer: f.ForPeer, IDs: fhir.ParseIDs(params["_id"]), Limit: defaultCount}
	var err error
	if q.ChangedAt, err = parseDateParameter("_lastUpdated", params, time.UTC); err != nil {
		return q, err
	}
	if count := params.Get(fhir.ParamCount); count != "" {
		if q.Limit, err = strconv.Atoi(count); err != nil || q.Limit < 0 {
			return q, invalidParameter(fhir.ParamCount, "must be a number")
		}
		q.Limit = min(q.Limit, maxCount)
		params.Set(fhir.ParamCount, strconv.Itoa(q.Limit)) // links have the limit that applies
	}
	switch params.Get(fhir.ParamSummary) {
	case "", "false":
	case summaryCount:
		q.Limit = 0
	default:
		return q, &fhir.ParameterError{Parameter: fhir.ParamSummary, Message: "must be count or false: other summaries are not supported", Unsupported: true}
	}
	if after := params.Get(fhir.ParamAfter); after != "" {
		if q.After, err = uuid.Parse(after); err != nil {
			return q, invalidParameter(fhir.ParamAfter, "must come from the link of another page")
		}
	}
	return q, nil
}

// parseDateParameter parses all values of a date parameter.
func parseDateParameter(parameter string, params url.Values, zone *time.Location) (store.TimeFilter, error) {
	ranges, err := fhir.ParseDateRanges(params[parameter], zone)
	if err != nil {
		return nil, invalidParameter(parameter, err.Error())
	}
	return toTimeFilter(ranges), nil
}

func toTimeFilter(ranges [][]fhir.Range) store.TimeFilter {
	var filter store.TimeFilter
	for _, alternatives := range ranges {
		timeRanges := make([]store.TimeRange, len(alternatives))
		for i, dateRange := range alternatives {
			timeRanges[i] = store.TimeRange(dateRange)
		}
		filter = append(filter, timeRanges)
	}
	return filter
}

// parsePatientItemFilter adds the conditions of resources that belong to a patient to a
// filter.
func parsePatientItemFilter(of resourceType, f fhirView, q *store.ResourceFilter, params url.Values) error {
	q.Patients = fhir.ParsePatientReferences(slices.Concat(params["patient"], params["patient:Patient"], params["subject"], params["subject:Patient"]), f.Base)
	for _, name := range []string{"date", "sent"} {
		times, err := parseDateParameter(name, params, f.zone)
		if err != nil {
			return err
		}
		q.Time = append(q.Time, times...)
	}
	for _, value := range params["status"] {
		var statuses []string
		for _, alternative := range fhir.Alternatives(value) {
			token := fhir.ParseToken(alternative)
			if isOfSystem := token.System == of.system; isOfSystem || token.System == "" && token.Code != "" {
				statuses = append(statuses, of.statuses(token.Code)...)
			}
		}
		q.Statuses = intersect(q.Statuses, statuses)
	}
	return nil
}

// intersect returns the values that are allowed; a nil list allows all.
func intersect(allowed, values []string) []string {
	common := []string{}
	for _, value := range values {
		if allowed == nil || slices.Contains(allowed, value) {
			common = append(common, value)
		}
	}
	return common
}

// encodePlain encodes parameters that identify nobody.
func encodePlain(params url.Values) string { return params.Encode() }

// searchset finds a page and returns its bundle. encodeQuery encodes the parameters of links.
func (a *API) searchset(ctx context.Context, of resourceType, f fhirView, q store.ResourceFilter, params url.Values, encodeQuery func(url.Values) string) (any, error) {
	if q.Limit > 0 {
		q.Limit++ // an extra row shows whether there is a next page
	}
	list, total, err := of.find(ctx, f, q)
	if err != nil {
		return nil, err
	}
	hasNext := q.Limit > 0 && len(list) == q.Limit
	if hasNext {
		list = list[:len(list)-1]
	}
	link := func() string {
		address := f.Base + "/" + of.name
		if len(params) == 0 {
			return address
		}
		return address + "?" + encodeQuery(params)
	}
	page := fhir.SearchPage{Base: f.Base, Self: link(), Timestamp: fhir.FormatInstant(a.host.Now()), Matches: list}
	if q.Limit == 0 || total < store.MaxCount {
		page.Total = &total // FHIR has no "or more"
	}
	if hasNext {
		_, last := list[len(list)-1].TypeAndID()
		params.Set(fhir.ParamAfter, last)
		page.Next = link()
	}
	return fhir.NewSearchset(page), nil
}

// findResource returns one resource. It is a [hub.ErrNotFound] if there is none.
func (a *API) findResource(ctx context.Context, of resourceType, f fhirView, text string) (fhir.Resource, error) {
	id, err := uuid.Parse(text)
	if err == nil {
		list, _, err := of.find(ctx, f, store.ResourceFilter{Scope: f.scope, ForPeer: f.ForPeer, IDs: []uuid.UUID{id}, Limit: 1, SkipCount: true})
		if err != nil || len(list) == 1 {
			return firstOrNil(list), err
		}
	}
	return nil, hub.Errorf(hub.ErrNotFound, "not_found", "%s not found", of.name)
}

func firstOrNil(list []fhir.Resource) fhir.Resource {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// readResource returns the handler that reads one resource.
func (a *API) readResource(kinds func() resourceType) func(context.Context, *fhirID) (any, error) {
	of := kinds()
	return func(ctx context.Context, in *fhirID) (any, error) {
		f, err := a.newFHIRView(ctx, of.scope)
		if err != nil {
			return nil, err
		}
		return a.findResource(ctx, of, f, in.ID)
	}
}
