package api

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/rest"
)

// Sizes of pages.
const (
	defaultCount = 50
	maxCount     = 200
)

// fhirForm is the body of a search by POST. The address may have parameters too.
type fhirForm struct {
	RawBody []byte `contentType:"application/x-www-form-urlencoded" required:"false" doc:"The parameters of the search by GET"`
}

// bindFHIRSearch binds the searches of a type: by GET, and by POST with a form.
func (a *API) bindFHIRSearch(kinds func() resourceType) rest.Binder {
	kind := kinds()
	return func(api huma.API, op huma.Operation) {
		if op.Method == http.MethodPost {
			op.SkipValidateBody = true // the form is read by the handler
			op.RequestBody = &huma.RequestBody{Content: make(map[string]*huma.MediaType)}
			handleFHIR(func(ctx context.Context, in *fhirForm) (any, error) {
				return a.handleFHIRSearch(ctx, kind, string(in.RawBody))
			})(api, op)
			op.RequestBody.Required = false
			for _, content := range op.RequestBody.Content {
				content.Schema = searchFormSchema(kind.name)
			}
			return
		}
		op.Parameters = searchParameters(kind.name)
		handleFHIR(func(ctx context.Context, _ *struct{}) (any, error) { return a.handleFHIRSearch(ctx, kind, "") })(api, op)
	}
}

// searchFormSchema documents the form of a search by POST.
func searchFormSchema(name string) *huma.Schema {
	form := &huma.Schema{Type: huma.TypeObject, Properties: make(map[string]*huma.Schema), AdditionalProperties: true}
	for _, param := range searchParameters(name) {
		form.Properties[param.Name] = parameterSchema()
		form.Properties[param.Name].Description = param.Description
		if param.Name == fhir.ParamCount {
			form.Properties[param.Name].Examples = []any{strconv.Itoa(defaultCount)}
		}
	}
	return form
}

// resultParamDocs describe the parameters of the result.
var resultParamDocs = map[string]string{
	fhir.ParamCount:      "Resources on a page, " + strconv.Itoa(defaultCount) + " by default, " + strconv.Itoa(maxCount) + " at most; 0 only counts",
	fhir.ParamSummary:    "true: the elements that R4 counts to the summary; text: mandatory ones, for there is no narrative; data and false: all; count: only the total",
	fhir.ParamElements:   "Names of elements with commas between them, or Type.name; mandatory elements are sent in any case",
	fhir.ParamSort:       "Names of parameters with commas between them, a minus in front of those that descend; see the parameters",
	fhir.ParamInclude:    "Resources that the matches refer to",
	fhir.ParamRevInclude: "Resources that refer to the matches",
	fhir.ParamFormat:     "json is the only one there is",
	fhir.ParamAfter:      "Where the page begins; see the links in the response",
	fhir.ParamBefore:     "Where the page ends; see the links in the response",
	fhir.ParamPage:       "Sealed parameters, as the links of a response have them",
}

// joinDocs adds the values that a parameter may have; "" for none.
func joinDocs(doc string, values []string) string {
	if len(values) == 0 {
		return ""
	}
	return doc + ": " + strings.Join(values, ", ")
}

// searchParameters documents the parameters of a search by GET.
func searchParameters(resourceType string) []*huma.Param {
	var list []*huma.Param
	add := func(name, doc string) {
		list = append(list, &huma.Param{Name: name, In: "query", Description: doc, Schema: parameterSchema()})
	}
	for _, searchParam := range fhir.SearchParams(resourceType) {
		doc := searchParam.Documentation
		if slices.Contains(personParameters, searchParam.Name) {
			doc += " Addresses are logged on their way: better sent in the body of POST _search."
		}
		add(searchParam.Name, doc)
	}
	for _, name := range fhir.ResultParams {
		doc := resultParamDocs[name]
		switch name {
		case fhir.ParamInclude:
			doc = joinDocs(doc, fhir.Includes(resourceType))
		case fhir.ParamRevInclude:
			doc = joinDocs(doc, fhir.RevIncludes(resourceType))
		}
		if doc != "" {
			add(name, doc)
		}
	}
	return list
}

// handleFHIRSearch answers a search with the parameters of the address and of a form.
func (a *API) handleFHIRSearch(ctx context.Context, kind resourceType, form string) (any, error) {
	f, err := a.newFHIRView(ctx, kind.scope)
	if err != nil {
		return nil, err
	}
	request := fhirRequestFrom(ctx)
	requested, err := request.parameters(form)
	if err != nil {
		return nil, err
	}
	params, ignored, err := fhir.ParseSearchParams(kind.name, requested, request.isStrict())
	if err != nil {
		return nil, mapParamError(err)
	}
	if err := request.checkAccept(params.Get(fhir.ParamFormat)); err != nil {
		return nil, err
	}
	params.Del(fhir.ParamPretty)
	if page := params.Get(fhir.ParamPage); page != "" {
		params.Del(fhir.ParamFormat)
		if len(params) > 1 || kind.name != fhir.TypePatient {
			return nil, invalidParameter(fhir.ParamPage, "must stand alone: it holds all the others")
		}
		if params, err = a.openQuery(f.scope, page); err != nil {
			return nil, err
		}
	}
	search := fhirSearch{kind: kind, view: f, params: params, outcome: fhir.IgnoredIssues(ignored), encodeQuery: encodePlain}
	if err := a.parseSearch(&search); err != nil {
		return nil, mapParamError(err)
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(params)), namesPerson) {
		search.encodeQuery = a.sealQuery(f.scope)
	}
	return a.searchset(ctx, search)
}

// fhirSearch is a search of one type.
type fhirSearch struct {
	kind        resourceType
	view        fhirView
	params      url.Values // that are supported
	filter      store.ResourceFilter
	subset      fhir.Subset
	outcome     []fhir.Issue                   // about the search, for its bundle
	encodeQuery func(params url.Values) string // of links
}

// parseSearch parses the parameters of a search.
func (a *API) parseSearch(search *fhirSearch) (err error) {
	f, params := search.view, search.params
	q := store.ResourceFilter{Scope: f.scope, ForPeer: f.ForPeer, IDs: fhir.ParseIDs(params["_id"]), Limit: defaultCount}
	for _, value := range params["_id:not"] {
		q.ExcludedIDs = append(q.ExcludedIDs, fhir.ParseIDs([]string{value})...)
	}
	if q.ChangedAt, err = a.parseDates("_lastUpdated", params["_lastUpdated"], time.UTC); err != nil {
		return err
	}
	if count := params.Get(fhir.ParamCount); count != "" {
		if q.Limit, err = strconv.Atoi(count); err != nil || q.Limit < 0 {
			return invalidParameter(fhir.ParamCount, "must be a number")
		}
		q.Limit = min(q.Limit, maxCount)
		params.Set(fhir.ParamCount, strconv.Itoa(q.Limit)) // links have the limit that applies
	}
	if search.subset, err = fhir.ParseSubset(params); err != nil {
		return err
	}
	if search.subset.OnlyCounts() {
		q.Limit = 0
	}
	terms, _ := fhir.ParseSort(search.kind.name, params.Get(fhir.ParamSort))
	for _, term := range terms {
		q.Sort = append(q.Sort, store.SortKey{Field: sortFields[term.Param], Descending: term.Descending})
	}
	if q.Cursor, err = a.parseCursor(search.kind.name, f.scope, params); err != nil {
		return err
	}
	search.filter = q
	return search.kind.parse(search.kind, f, &search.filter, params)
}

// sortFields are the fields of the parameters by which searches can be sorted.
var sortFields = map[string]store.SortField{
	"_id": store.SortByID, "_lastUpdated": store.SortByChange, "name": store.SortByName, "birthdate": store.SortByBirthDate,
	"date": store.SortByTime, "sent": store.SortByTime,
}

// parseDates parses values of a date parameter.
func (a *API) parseDates(parameter string, values []string, zone *time.Location) (store.TimeFilter, error) {
	ranges, err := fhir.ParseDateRanges(values, zone, a.host.Now())
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
func (a *API) parsePatientItemFilter(kind resourceType, f fhirView, q *store.ResourceFilter, params url.Values) error {
	for _, searchParam := range fhir.SearchParams(kind.name) {
		if strings.HasPrefix(searchParam.Name, "_") {
			continue
		}
		name := searchParam.Name + ":" + fhir.ModifierMissing
		for _, value := range params[name] {
			if err := addMissing(q, name, value); err != nil {
				return err
			}
		}
	}
	var patients []string
	for _, name := range []string{"patient", "subject", "actor"} {
		patients = slices.Concat(patients, params[name], params[name+":"+fhir.TypePatient])
	}
	q.Patients = fhir.ParseReferences(patients, fhir.TypePatient, f.Base)
	appointments := slices.Concat(params["appointment"], params["appointment:"+fhir.TypeAppointment])
	if ids := fhir.ParseReferences(appointments, fhir.TypeAppointment, f.Base); ids != nil { // an encounter has the appointment's id
		q.IDs = intersect(q.IDs, ids)
	}
	for _, name := range []string{"date", "sent"} {
		times, err := a.parseDates(name, params[name], f.zone)
		if err != nil {
			return err
		}
		q.Time = append(q.Time, times...)
	}
	for _, modifier := range []string{"", ":" + fhir.ModifierNot} {
		for _, value := range params["status"+modifier] {
			statuses := statusesOf(kind, value)
			if modifier != "" {
				statuses = without(kind.statuses(""), statuses)
			}
			q.Statuses = intersect(q.Statuses, statuses)
		}
	}
	return nil
}

// statusesOf returns the clinic's statuses that a value of the parameter status stands for.
func statusesOf(kind resourceType, value string) []string {
	var statuses []string
	for _, alternative := range fhir.Alternatives(value) {
		token := fhir.ParseToken(alternative)
		if isOfSystem := token.System == kind.system; isOfSystem || token.System == "" && token.Code != "" {
			statuses = append(statuses, kind.statuses(token.Code)...)
		}
	}
	return statuses
}

// intersect returns the values that are allowed; a nil list allows all.
func intersect[T comparable](allowed, values []T) []T {
	common := []T{}
	for _, value := range values {
		if allowed == nil || slices.Contains(allowed, value) {
			common = append(common, value)
		}
	}
	return common
}

// without returns the values that are not excluded.
func without(values, excluded []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(value string) bool { return slices.Contains(excluded, value) })
}

// encodePlain encodes parameters that identify no person.
func encodePlain(params url.Values) string { return params.Encode() }

// searchset finds a page and returns its bundle.
func (a *API) searchset(ctx context.Context, search fhirSearch) (any, error) {
	q := search.filter
	if q.Limit > 0 {
		q.Limit++ // an extra row shows whether there is a further page
	}
	found, err := search.kind.find(ctx, search.view, q)
	if err != nil {
		return nil, err
	}
	backward := q.Cursor != nil && q.Cursor.Backward
	hasFurther := q.Limit > 0 && len(found.list) == q.Limit
	hasNext, hasPrevious := hasFurther && !backward || backward, hasFurther && backward || q.Cursor != nil && !backward
	switch {
	case hasFurther && backward:
		found.list, found.cursors = found.list[1:], found.cursors[1:]
	case hasFurther:
		found.list, found.cursors = found.list[:len(found.list)-1], found.cursors[:len(found.cursors)-1]
	}
	included, err := a.findIncluded(ctx, &search, found.list)
	if err != nil {
		return nil, err
	}
	page := fhir.SearchPage{
		Base: search.view.Base, Self: search.link(search.params), Timestamp: fhir.FormatInstant(a.host.Now()),
		Matches: rest.Map(found.list, search.subset.Of), Included: rest.Map(included, search.subset.Of), Outcome: search.outcome,
	}
	if q.Limit == 0 || found.total < store.MaxCount {
		page.Total = &found.total // FHIR has no "or more"
	}
	if hasNext && len(found.cursors) > 0 {
		page.Next = search.link(a.withCursor(search, fhir.ParamAfter, found.cursors[len(found.cursors)-1]))
	}
	if hasPrevious && len(found.cursors) > 0 {
		page.Previous = search.link(a.withCursor(search, fhir.ParamBefore, found.cursors[0]))
	}
	return fhir.NewSearchset(page), nil
}

// link returns the address of the search with parameters.
func (s fhirSearch) link(params url.Values) string {
	address := s.view.Base + "/" + s.kind.name
	if len(params) == 0 {
		return address
	}
	return address + "?" + s.encodeQuery(params)
}
