package fhir

import (
	"strconv"
	"strings"
)

// Bundle is http://hl7.org/fhir/R4/bundle.html.
type Bundle struct {
	Base
	Type      string  `json:"type"`
	Timestamp string  `json:"timestamp,omitempty"`
	Total     *int    `json:"total,omitempty"`
	Link      []Link  `json:"link,omitempty"`
	Entry     []Entry `json:"entry,omitempty"`
}

// Link is the address of a page of a search.
type Link struct {
	Relation string `json:"relation"` // self, prev or next
	URL      string `json:"url"`
}

// Entry is one resource of a bundle.
type Entry struct {
	FullURL  string       `json:"fullUrl,omitempty"`
	Resource Resource     `json:"resource"`
	Search   *EntrySearch `json:"search,omitempty"`
}

// EntrySearch is the reason for an entry in a searchset.
type EntrySearch struct {
	Mode string `json:"mode"`
}

// Modes of entries.
const (
	searchModeMatch   = "match"
	searchModeInclude = "include"
	searchModeOutcome = "outcome" // about the search
)

// SearchPage is a page of search results.
type SearchPage struct {
	Base      string // address of the facade: https://host/clinic/fhir
	Self      string // address of this page
	Previous  string // of the page before; "" on the first
	Next      string // of the next one; "" on the last
	Timestamp string // instant of the answer
	Total     *int   // of all pages; nil = not counted
	Matches   []Resource
	Included  []Resource
	Outcome   []Issue // about the search
}

// NewSearchset returns the bundle of a page.
func NewSearchset(page SearchPage) Bundle {
	bundle := Bundle{Base: Base{ResourceType: "Bundle"}, Type: "searchset", Timestamp: page.Timestamp, Total: page.Total, Link: []Link{{"self", page.Self}}}
	if page.Previous != "" {
		bundle.Link = append(bundle.Link, Link{"prev", page.Previous})
	}
	if page.Next != "" {
		bundle.Link = append(bundle.Link, Link{"next", page.Next})
	}
	for _, resource := range page.Matches {
		bundle.Entry = append(bundle.Entry, NewEntry(page.Base, resource))
	}
	for _, resource := range page.Included {
		entry := NewEntry(page.Base, resource)
		entry.Search.Mode = searchModeInclude
		bundle.Entry = append(bundle.Entry, entry)
	}
	if len(page.Outcome) > 0 {
		outcome := OperationOutcome{Base: Base{ResourceType: "OperationOutcome"}, Issue: page.Outcome}
		bundle.Entry = append(bundle.Entry, Entry{Resource: outcome, Search: &EntrySearch{searchModeOutcome}})
	}
	return bundle
}

// NewEntry returns the searchset entry of a matching resource.
func NewEntry(base string, r Resource) Entry {
	resourceType, id := r.TypeAndID()
	return Entry{FullURL: base + "/" + resourceType + "/" + id, Resource: r, Search: &EntrySearch{searchModeMatch}}
}

// OperationOutcome is http://hl7.org/fhir/R4/operationoutcome.html, the body of errors.
type OperationOutcome struct {
	Base
	Issue []Issue `json:"issue"`
}

// Issue is one problem.
type Issue struct {
	Severity    string           `json:"severity"`
	Code        string           `json:"code"` // of the value set issue-type
	Details     *CodeableConcept `json:"details,omitempty"`
	Diagnostics string           `json:"diagnostics,omitempty"`
	Expression  []string         `json:"expression,omitempty"` // "http." and the parameter that is wrong
}

// IgnoredIssues names the parameters of a search that had no effect; none for none.
func IgnoredIssues(parameters []string) []Issue {
	if len(parameters) == 0 {
		return nil
	}
	issue := Issue{Severity: "warning", Code: "not-supported", Diagnostics: "These parameters, or values of them, are not supported and were ignored: " + strings.Join(parameters, ", ") + "."}
	for _, name := range parameters {
		issue.Expression = append(issue.Expression, "http."+name)
	}
	return []Issue{issue}
}

// TooManyIncludedIssue says that a page has not all resources that it should include.
func TooManyIncludedIssue(limit int) Issue {
	return Issue{
		Severity: "warning", Code: "too-costly",
		Diagnostics: "More than " + strconv.Itoa(limit) + " resources were to be included; the others were left out. Ask for smaller pages, or search them by themselves.",
	}
}

// issueTypes are the issue codes of HTTP statuses. All others are "exception".
var issueTypes = map[int]string{
	400: "invalid", 401: "login", 403: "forbidden", 404: "not-found", 405: "not-supported", 406: "not-supported", 409: "conflict",
	410: "deleted", 415: "not-supported", 422: "invalid", 429: "throttled", 503: "transient", 504: "timeout",
}

// NotSupported is the hub's error code for features of FHIR that the facade lacks.
const NotSupported = "not_supported"

// NewOutcome describes an error: its HTTP status, the hub's error code, a sentence for users,
// and the invalid parameters.
func NewOutcome(status int, code, detail string, parameters ...string) OperationOutcome {
	issueType := issueTypes[status]
	if issueType == "" {
		issueType = "exception"
	}
	if code == NotSupported {
		issueType = "not-supported"
	}
	issue := Issue{Severity: "error", Code: issueType, Diagnostics: detail}
	if code != "" {
		issue.Details = &CodeableConcept{Text: code}
	}
	for _, name := range parameters {
		issue.Expression = append(issue.Expression, "http."+name)
	}
	return OperationOutcome{Base: Base{ResourceType: "OperationOutcome"}, Issue: []Issue{issue}}
}
