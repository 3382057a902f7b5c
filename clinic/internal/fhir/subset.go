package fhir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Values of _summary; see http://hl7.org/fhir/R4/search.html#summary.
const (
	SummaryTrue  = "true"  // the elements of a summary
	SummaryText  = "text"  // the narrative, which resources here do not have, and mandatory elements
	SummaryData  = "data"  // all but the narrative: everything
	SummaryCount = "count" // the total of a search
	SummaryFalse = "false" // everything
)

// mandatoryElements are the elements at the top of each type that R4 requires.
var mandatoryElements = map[string][]string{
	TypeAppointment: {"status", "participant"}, TypeEncounter: {"status", "class"}, TypeDocumentReference: {"status", "content"}, TypeCommunication: {"status"},
}

// summaryElements are the elements in use at the top of each type that R4 counts to its summary,
// beside the mandatory ones.
var summaryElements = map[string][]string{
	TypePatient:           {"identifier", "active", "name", "telecom", "birthDate", "managingOrganization"},
	TypeAppointment:       {"serviceType", "start", "end"},
	TypeEncounter:         {"serviceType", "subject", "participant", "appointment"},
	TypeDocumentReference: {"type", "subject", "date", "author", "description", "securityLabel", "context"},
	TypeCommunication:     {"identifier", "subject"},
}

// tagSubsetted marks resources that lack elements.
var tagSubsetted = Coding{
	System: "http://terminology.hl7.org/CodeSystem/v3-ObservationValue", Code: "SUBSETTED", Display: "Resource encoded in summary mode",
}

// Subset selects the elements of resources that are sent. The zero value selects all.
type Subset struct {
	summary  string
	elements []string // as requested: name, or Type.name
}

// ParseSubset returns the subset that _summary and _elements ask for.
func ParseSubset(params url.Values) (Subset, error) {
	subset := Subset{summary: params.Get(ParamSummary)}
	if !slices.Contains([]string{"", SummaryTrue, SummaryText, SummaryData, SummaryCount, SummaryFalse}, subset.summary) {
		return subset, &ParameterError{ParamSummary, "must be true, text, data, count or false", false}
	}
	for _, name := range strings.Split(params.Get(ParamElements), ",") {
		if name = strings.TrimSpace(name); name != "" {
			subset.elements = append(subset.elements, name)
		}
	}
	if len(subset.elements) > 0 && subset.summary != "" && subset.summary != SummaryFalse {
		return subset, &ParameterError{ParamElements, "cannot be combined with _summary", false}
	}
	return subset, nil
}

// OnlyCounts reports whether no resources are sent.
func (s Subset) OnlyCounts() bool { return s.summary == SummaryCount }

// Of returns a resource with the selected elements.
func (s Subset) Of(resource Resource) Resource {
	resourceType, _ := resource.TypeAndID()
	kept := append([]string{"resourceType", "id", "meta"}, mandatoryElements[resourceType]...)
	switch {
	case len(s.elements) > 0:
		kept = append(kept, s.elementsOf(resourceType)...)
	case s.summary == SummaryTrue:
		if document, ok := resource.(DocumentReference); ok {
			resource = document.withoutData()
		}
		kept = append(kept, summaryElements[resourceType]...)
	case s.summary != SummaryText:
		return resource
	}
	return subsetResource{resource, kept}
}

// elementsOf returns the requested elements of a type.
func (s Subset) elementsOf(resourceType string) []string {
	var names []string
	for _, requested := range s.elements {
		parts := strings.Split(requested, ".")
		switch {
		case parts[0] == resourceType && len(parts) > 1:
			names = append(names, parts[1])
		case !slices.Contains(resourceTypes, parts[0]):
			names = append(names, parts[0])
		}
	}
	return names
}

// withoutData returns the document without what is in its attachments: an attachment's data is
// no part of a summary.
func (d DocumentReference) withoutData() DocumentReference {
	content := slices.Clone(d.Content)
	for i := range content {
		content[i].Attachment.Data, content[i].Attachment.DataShown = nil, nil
	}
	d.Content = content
	return d
}

// subsetResource is a resource with some of its elements.
type subsetResource struct {
	Resource
	kept []string // names of elements
}

// MarshalJSON implements json.Marshaler.
func (s subsetResource) MarshalJSON() ([]byte, error) {
	whole, err := json.Marshal(s.Resource)
	if err != nil {
		return nil, fmt.Errorf("writing a part of a resource: %w", err)
	}
	var part bytes.Buffer
	part.WriteByte('{')
	write := func(name string, value any) error {
		raw, err := json.Marshal(value)
		if err == nil {
			if part.Len() > 1 {
				part.WriteByte(',')
			}
			fmt.Fprintf(&part, "%q:%s", name, raw)
		}
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(whole))
	if _, err = decoder.Token(); err != nil {
		return nil, err
	}
	meta := Meta{}
	for err == nil && decoder.More() {
		var name json.Token
		var value json.RawMessage
		if name, err = decoder.Token(); err == nil {
			err = decoder.Decode(&value)
		}
		element, _ := name.(string)
		switch {
		case err != nil:
		case element == "meta":
			err = json.Unmarshal(value, &meta)
		case slices.Contains(s.kept, strings.TrimPrefix(element, "_")):
			err = write(element, value)
		}
	}
	if err == nil {
		meta.Tag = append(meta.Tag, tagSubsetted)
		err = write("meta", meta)
	}
	part.WriteByte('}')
	return part.Bytes(), err
}
