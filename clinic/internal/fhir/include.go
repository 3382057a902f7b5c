package fhir

import (
	"net/url"
	"slices"
	"strings"
)

// Include asks for resources beside the matches of a search: those that the matches refer to,
// or that refer to the matches.
type Include struct {
	Type    string // that has the reference
	Param   string // search parameter of the reference
	Target  string // type of what it refers to
	Reverse bool   // resources of Type are included, else those of Target
}

// includeAll is the value of _include for all references of the matches.
const includeAll = "*"

// includesOf returns the includes that a type's searches support.
func includesOf(resourceType string, reverse bool) []Include {
	var includes []Include
	for _, name := range resourceTypes {
		if !reverse && name != resourceType {
			continue
		}
		for _, param := range searchParams[name] {
			if param.Type == paramReference && (!reverse || param.Target == resourceType) {
				includes = append(includes, Include{name, param.Name, param.Target, reverse})
			}
		}
	}
	return includes
}

func includeNames(includes []Include) []string {
	var names []string
	for _, include := range includes {
		names = append(names, include.Type+":"+include.Param)
	}
	return names
}

// Includes returns the values of _include that a type's searches support, except for a target
// behind them.
func Includes(resourceType string) []string {
	names := includeNames(includesOf(resourceType, false))
	if len(names) == 0 {
		return nil
	}
	return append([]string{includeAll}, names...)
}

// RevIncludes is [Includes] for _revinclude.
func RevIncludes(resourceType string) []string { return includeNames(includesOf(resourceType, true)) }

// parseInclude parses a value of _include, or of _revinclude. ok is false if it is not supported.
func parseInclude(resourceType, value string, reverse bool) (includes []Include, ok bool) {
	supported := includesOf(resourceType, reverse)
	if value == includeAll && !reverse {
		return supported, len(supported) > 0
	}
	for _, include := range supported {
		name := include.Type + ":" + include.Param
		if value == name || value == name+":"+include.Target {
			return []Include{include}, true
		}
	}
	return nil, false
}

// ParseIncludes returns what _include and _revinclude of a type's search ask for.
func ParseIncludes(resourceType string, params url.Values) []Include {
	var all []Include
	for _, name := range repeatedParams {
		for _, value := range params[name] {
			includes, _ := parseInclude(resourceType, value, name == ParamRevInclude)
			for _, include := range includes {
				if !slices.Contains(all, include) {
					all = append(all, include)
				}
			}
		}
	}
	return all
}

// ReferencedID returns the id that a resource's search parameter refers to, "" for none.
func ReferencedID(resource Resource, param string) string {
	var reference Reference
	switch r := resource.(type) {
	case Appointment:
		reference = r.Participant[0].Actor // the patient
	case Encounter:
		reference = r.Subject
		if param == "appointment" {
			reference = r.Appointment[0]
		}
	case DocumentReference:
		reference = r.Subject
	case Communication:
		reference = r.Subject
	}
	_, id, _ := strings.Cut(reference.Reference, "/")
	return id
}
