package fhir

import "strings"

// CapabilityStatement is http://hl7.org/fhir/R4/capabilitystatement.html.
type CapabilityStatement struct {
	Base
	URL            string         `json:"url"`
	Version        string         `json:"version"`
	Name           string         `json:"name"`
	Title          string         `json:"title"`
	Status         string         `json:"status"`
	Date           string         `json:"date"`
	Kind           string         `json:"kind"`
	FHIRVersion    string         `json:"fhirVersion"`
	Format         []string       `json:"format"`
	Software       Software       `json:"software"`
	Implementation Implementation `json:"implementation"`
	Rest           []Rest         `json:"rest"`
}

// Software is the program.
type Software struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Implementation is this installation of it.
type Implementation struct {
	Description string `json:"description"`
	URL         string `json:"url"`
}

// Rest describes what is available over HTTP.
type Rest struct {
	Mode     string         `json:"mode"`
	Security Security       `json:"security"`
	Resource []RestResource `json:"resource"`
}

// Security describes how requests are authenticated.
type Security struct {
	CORS        bool   `json:"cors"`
	Description string `json:"description"`
}

// RestResource describes what is available for one type.
type RestResource struct {
	Type             string        `json:"type"`
	Documentation    string        `json:"documentation"`
	Interaction      []Interaction `json:"interaction"`
	Versioning       string        `json:"versioning"`
	ConditionalRead  string        `json:"conditionalRead"`
	SearchInclude    []string      `json:"searchInclude,omitempty"`
	SearchRevInclude []string      `json:"searchRevInclude,omitempty"`
	SearchParam      []SearchParam `json:"searchParam"`
	Operation        []Operation   `json:"operation,omitempty"`
}

// Interaction is read or search-type.
type Interaction struct {
	Code string `json:"code"`
}

// Operation is an operation other than read and search.
type Operation struct {
	Name          string `json:"name"`
	Definition    string `json:"definition"`
	Documentation string `json:"documentation,omitempty"`
}

// NewCapabilityStatement describes the facade at a base address. released is the date on which
// its capabilities last changed.
func NewCapabilityStatement(base, softwareVersion, released string) CapabilityStatement {
	statement := CapabilityStatement{
		Base: Base{ResourceType: "CapabilityStatement"}, URL: base + "/metadata", Version: softwareVersion,
		Name: "ClinicFacade", Title: "Clinic", Status: "active", Date: released, Kind: "instance",
		FHIRVersion: Version, Format: []string{MediaType, "json"}, Software: Software{"Clinic", softwareVersion},
		Implementation: Implementation{"Patients, visits, records and messages of one clinic, to read", base},
	}
	rest := Rest{Mode: "server", Security: Security{Description: "An administrator's access token as Authorization: Bearer, or an API key as X-Integration-Key " +
		"with the scope patient.read or the resource's own. What is seen is always one clinic's."}}
	for _, name := range resourceTypes {
		restResource := RestResource{
			Type: name, Documentation: restDocumentation(name), Interaction: []Interaction{{"read"}, {"search-type"}}, Versioning: "no-version",
			ConditionalRead: "not-match", SearchInclude: Includes(name), SearchRevInclude: RevIncludes(name), SearchParam: SearchParams(name),
		}
		if name == TypePatient {
			restResource.Operation = []Operation{
				{"everything", base + PathEverything, "With start, end and _type; the response has no pages."},
				{"export", standardExport, "All patients of the clinic with their resources, asynchronously, as NDJSON; with _type, _since and _outputFormat."},
			}
		}
		rest.Resource = append(rest.Resource, restResource)
	}
	statement.Rest = []Rest{rest}
	return statement
}

// restDocumentation states what searches of a type know beside their parameters, and what is
// absent on purpose.
func restDocumentation(resourceType string) string {
	return "Searches also know " + strings.Join([]string{ParamCount, ParamSummary, ParamElements, ParamSort, ParamInclude, ParamRevInclude, ParamFormat}, ", ") +
		". Sorted by " + strings.Join(sortNames(SearchParams(resourceType)), ", ") + "; a minus in front reverses it." +
		" Not served, because the clinic does not have it or has it as free text: " + strings.Join(UnservedParams(resourceType), ", ") + "."
}
