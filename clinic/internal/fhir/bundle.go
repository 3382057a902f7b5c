package fhir

import "slices"

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

// Why an entry is in the answer to a search.
const (
	modeMatch   = "match"   // it is what was asked for
	modeInclude = "include" // it belongs to what was asked for
)

// Found is a page of what a search found.
type Found struct {
	Base    string // address of the facade: https://host/clinic/fhir
	Self    string // address of this page
	Next    string // of the next one; "" on the last
	At      string // instant of the answer
	Total   *int   // of all pages; nil = not counted
	Matches []Resource
	Include []Resource // what belongs to the matches
}

// Searchset writes what a search found.
func Searchset(f Found) Bundle {
	b := Bundle{Base: Base{ResourceType: "Bundle"}, Type: "searchset", Timestamp: f.At, Total: f.Total, Link: []Link{{"self", f.Self}}}
	if f.Next != "" {
		b.Link = append(b.Link, Link{"next", f.Next})
	}
	for i, one := range slices.Concat(f.Matches, f.Include) {
		mode := modeMatch
		if i >= len(f.Matches) {
			mode = modeInclude
		}
		kind, id := one.Name()
		b.Entry = append(b.Entry, Entry{FullURL: f.Base + "/" + kind + "/" + id, Resource: one, Search: &Search{mode}})
	}
	return b
}

// EntryOf is a resource as an entry of a searchset, as what was asked for.
func EntryOf(base string, r Resource) Entry {
	kind, id := r.Name()
	return Entry{FullURL: base + "/" + kind + "/" + id, Resource: r, Search: &Search{modeMatch}}
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
	Expression  []string         `json:"expression,omitempty"`
}

// issueTypes are the codes for HTTP statuses; whatever else is "exception".
var issueTypes = map[int]string{
	400: "invalid", 401: "login", 403: "forbidden", 404: "not-found", 405: "not-supported", 409: "conflict",
	410: "deleted", 415: "not-supported", 422: "invalid", 429: "throttled", 503: "transient", 504: "timeout",
}

// Outcome tells of an error: its HTTP status, the hub's own code for it and a
// sentence for people.
func Outcome(status int, code, detail string) OperationOutcome {
	kind := issueTypes[status]
	if kind == "" {
		kind = "exception"
	}
	issue := Issue{Severity: "error", Code: kind, Diagnostics: detail}
	if code != "" {
		issue.Details = &CodeableConcept{Text: code}
	}
	return OperationOutcome{Base: Base{ResourceType: "OperationOutcome"}, Issue: []Issue{issue}}
}
