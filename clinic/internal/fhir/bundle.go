package fhir

// Bundle is http://hl7.org/fhir/R4/bundle.html.
type Bundle struct {
	Base
	Type      string  `json:"type"`
	Timestamp string  `json:"timestamp,omitempty"`
	Total     *int    `json:"total,omitempty"`
	Link      []Link  `json:"link,omitempty"`
	Entry     []Entry `json:"entry,omitempty"`
}

// Link is where another page of a search is.
type Link struct {
	Relation string `json:"relation"` // self or next
	URL      string `json:"url"`
}

// Entry is one resource of a bundle.
type Entry struct {
	FullURL  string   `json:"fullUrl"`
	Resource Resource `json:"resource"`
	Search   *Search  `json:"search,omitempty"`
}

// Search is why an entry is there.
type Search struct {
	Mode string `json:"mode"`
}

// match is the mode of what was asked for. Nothing else is sent.
const match = "match"

// Found is a page of what a search found.
type Found struct {
	Base    string // address of the facade: https://host/clinic/fhir
	Self    string // address of this page
	Next    string // of the next one; "" on the last
	At      string // instant of the answer
	Total   *int   // of all pages; nil = not counted
	Matches []Resource
}

// Searchset writes what a search found.
func Searchset(f Found) Bundle {
	b := Bundle{Base: Base{ResourceType: "Bundle"}, Type: "searchset", Timestamp: f.At, Total: f.Total, Link: []Link{{"self", f.Self}}}
	if f.Next != "" {
		b.Link = append(b.Link, Link{"next", f.Next})
	}
	for _, match := range f.Matches {
		b.Entry = append(b.Entry, EntryOf(f.Base, match))
	}
	return b
}

// EntryOf is a resource as an entry of a searchset, as what was asked for.
func EntryOf(base string, r Resource) Entry {
	kind, id := r.Name()
	return Entry{FullURL: base + "/" + kind + "/" + id, Resource: r, Search: &Search{match}}
}

// OperationOutcome is http://hl7.org/fhir/R4/operationoutcome.html: how errors are told.
type OperationOutcome struct {
	Base
	Issue []Issue `json:"issue"`
}

// Issue is one thing that went wrong.
type Issue struct {
	Severity    string           `json:"severity"`
	Code        string           `json:"code"` // of the value set issue-type
	Details     *CodeableConcept `json:"details,omitempty"`
	Diagnostics string           `json:"diagnostics,omitempty"`
	Expression  []string         `json:"expression,omitempty"` // "http." and the parameter that is wrong
}

// issueTypes are the codes for HTTP statuses; whatever else is "exception".
var issueTypes = map[int]string{
	400: "invalid", 401: "login", 403: "forbidden", 404: "not-found", 405: "not-supported", 406: "not-supported", 409: "conflict",
	410: "deleted", 415: "not-supported", 422: "invalid", 429: "throttled", 503: "transient", 504: "timeout",
}

// NotSupported is the hub's own code for what FHIR has and the facade has not.
const NotSupported = "not_supported"

// Outcome describes an error: its HTTP status, the hub's own code for it, a sentence for
// people, and the parameters that are wrong.
func Outcome(status int, code, detail string, parameters ...string) OperationOutcome {
	kind := issueTypes[status]
	if kind == "" {
		kind = "exception"
	}
	if code == NotSupported {
		kind = "not-supported"
	}
	issue := Issue{Severity: "error", Code: kind, Diagnostics: detail}
	if code != "" {
		issue.Details = &CodeableConcept{Text: code}
	}
	for _, name := range parameters {
		issue.Expression = append(issue.Expression, "http."+name)
	}
	return OperationOutcome{Base: Base{ResourceType: "OperationOutcome"}, Issue: []Issue{issue}}
}
