package fhir

import "strings"

// SortTerm is a criterion of an order.
type SortTerm struct {
	Param      string // name of the search parameter
	Descending bool
}

// ParseSort parses the value of _sort. ok is false if a type's searches cannot be sorted so.
func ParseSort(resourceType, value string) (terms []SortTerm, ok bool) {
	if value == "" {
		return nil, true
	}
	names := sortNames(SearchParams(resourceType))
	for _, text := range strings.Split(value, ",") {
		name, descending := strings.CutPrefix(text, "-")
		isKnown := false
		for _, sortable := range names {
			isKnown = isKnown || sortable == name
		}
		for _, earlier := range terms {
			isKnown = isKnown && earlier.Param != name
		}
		if !isKnown {
			return nil, false
		}
		terms = append(terms, SortTerm{name, descending})
	}
	return terms, true
}

// sortNames returns the names of the parameters by which searches can be sorted.
func sortNames(params []SearchParam) []string {
	var names []string
	for _, param := range params {
		if param.Sortable {
			names = append(names, param.Name)
		}
	}
	return names
}
