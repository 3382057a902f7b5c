package fhir

import (
	"slices"
	"strings"
)

// SearchParam is a parameter of searches.
type SearchParam struct {
	Name          string   `json:"name"`
	Type          string   `json:"type"` // token, reference, date or string
	Documentation string   `json:"documentation,omitempty"`
	Modifiers     []string `json:"-"` // what may stand behind the name and a colon
	Sortable      bool     `json:"-"` // _sort may name it
	Target        string   `json:"-"` // type of the resources that a reference leads to
}

// Types of parameters.
const (
	paramToken     = "token"
	paramReference = "reference"
	paramDate      = "date"
	paramString    = "string"
)

// Modifiers.
const (
	ModifierMissing = "missing" // whether there is a value
	ModifierNot     = "not"     // no value is one of these
	ModifierExact   = "exact"   // as it is written
)

// Systems of status codes and of other tokens.
const (
	SystemAppointmentStatus = "http://hl7.org/fhir/appointmentstatus"
	SystemEncounterStatus   = "http://hl7.org/fhir/encounter-status"
	SystemDocumentStatus    = "http://hl7.org/fhir/document-reference-status"
	SystemEventStatus       = "http://hl7.org/fhir/event-status"
	SystemSpecialValues     = "http://terminology.hl7.org/CodeSystem/special-values"
	systemSpecialValues     = "http://hl7.org/fhir/special-values" // as the pages on searching have it
	SystemPhone             = "phone"
	SystemEmail             = "email"
	dates                   = "With eq, ne, gt, ge, lt, le, sa, eb, ap; several narrow it down, commas widen it."
)

// BooleanSystems are the systems of the codes true and false.
var BooleanSystems = []string{SystemSpecialValues, systemSpecialValues}

// CPFSystems are the systems by which a CPF is searched. Resources have the first.
var CPFSystems = []string{SystemCPF, "https://saude.gov.br/fhir/sid/cpf", "https://rnds-fhir.saude.gov.br/NamingSystem/cpf"}

// searchParams are the parameters of each type's searches, beside those of all types.
var (
	commonParams = []SearchParam{
		{"_id", paramToken, "One or several ids, with commas between them.", []string{ModifierNot}, true, ""},
		{"_lastUpdated", paramDate, "When the clinic last changed it. " + dates, nil, true, ""},
	}
	searchParams = map[string][]SearchParam{
		TypePatient: {
			tokenParam("phone", "As people write it; the country and the ninth digit may be missing. phone| alone finds who has a number."),
			tokenParam("email", "The whole e-mail address, in any case. email| alone finds who has one."),
			tokenParam("telecom", "A phone number or an e-mail address; phone| or email| may stand in front, or alone."),
			{"name", paramString, "How words of the name begin, whatever its case and accents; exact is the whole name as it is written.", []string{ModifierExact, ModifierMissing}, true, ""},
			{"given", paramString, "How the first word of the name begins: the clinic has names as one text.", []string{ModifierMissing}, false, ""},
			{"family", paramString, "How the other words of the name begin.", []string{ModifierMissing}, false, ""},
			tokenParam("identifier", "A CPF, alone or behind its system and a bar; the system and the bar alone find who has one. Systems, all alike: "+strings.Join(CPFSystems, ", ")+"."),
			{"birthdate", paramDate, "A day, or a range of them. " + dates, []string{ModifierMissing}, true, ""},
			tokenParam("active", "true or false."),
		},
		TypeAppointment: patientItemParams("booked, fulfilled, cancelled or noshow.", dateParam("date", "When it begins. "),
			referenceParam("actor", "The patient who takes part; professionals have no resources here.", TypePatient)),
		TypeEncounter: patientItemParams("finished is the only one there is.", dateParam("date", "When it began. "),
			referenceParam("appointment", "The appointment that it was.", TypeAppointment)),
		TypeDocumentReference: patientItemParams("current is the only one there is.", dateParam("date", "The instant at which the day it is about began, where the clinic is. ")),
		TypeCommunication:     patientItemParams("completed is the only one there is.", dateParam("sent", "When it happened. "), dateParam("date", "The same as sent. Not of R4. ")),
	}
	resourceTypes = []string{TypePatient, TypeAppointment, TypeEncounter, TypeDocumentReference, TypeCommunication}
)

func tokenParam(name, documentation string) SearchParam {
	return SearchParam{name, paramToken, documentation, []string{ModifierNot, ModifierMissing}, false, ""}
}

func dateParam(name, documentation string) SearchParam {
	return SearchParam{name, paramDate, documentation + dates, []string{ModifierMissing}, true, ""}
}

func referenceParam(name, documentation, target string) SearchParam {
	return SearchParam{name, paramReference, documentation, []string{target, ModifierMissing}, false, target}
}

func patientItemParams(statuses string, more ...SearchParam) []SearchParam {
	return append([]SearchParam{
		referenceParam("patient", "An id, or Patient/ and an id.", TypePatient),
		referenceParam("subject", "The same as patient.", TypePatient),
		tokenParam("status", statuses),
	}, more...)
}

// SearchParams returns the parameters of a type's searches.
func SearchParams(resourceType string) []SearchParam {
	params := slices.Concat(commonParams, searchParams[resourceType])
	for i, param := range params {
		if len(param.Modifiers) > 0 {
			params[i].Documentation += " Modifiers: " + strings.Join(param.Modifiers, ", ") + "."
		}
		if param.Sortable {
			params[i].Documentation += " Also for _sort."
		}
	}
	return params
}

// Parameters of the result.
const (
	ParamCount      = "_count"
	ParamSummary    = "_summary"
	ParamElements   = "_elements"
	ParamSort       = "_sort"
	ParamInclude    = "_include"
	ParamRevInclude = "_revinclude"
	ParamAfter      = "_after"  // where the page begins
	ParamBefore     = "_before" // where it ends
	ParamPage       = "_page"   // sealed parameters, of searches that name a person
	ParamFormat     = "_format"
	ParamPretty     = "_pretty"
)

// ResultParams are the parameters of the result of a search.
var ResultParams = []string{
	ParamCount, ParamSummary, ParamElements, ParamSort, ParamInclude, ParamRevInclude, ParamAfter, ParamBefore, ParamPage, ParamFormat, ParamPretty,
}

// unservedParams are R4's parameters of each type that are not served: the clinic does not have
// what they search, or has it as free text.
var unservedParams = map[string][]string{
	"": {"_content", "_profile", "_query", "_security", "_source", "_tag", "_text"},
	TypePatient: {
		"address", "address-city", "address-country", "address-postalcode", "address-state", "address-use", "death-date", "deceased", "gender",
		"general-practitioner", "language", "link", "organization", "phonetic",
	},
	TypeAppointment: {
		"appointment-type", "based-on", "identifier", "location", "part-status", "practitioner", "reason-code", "reason-reference", "service-category",
		"service-type", "slot", "specialty", "supporting-info",
	},
	TypeEncounter: {
		"account", "based-on", "class", "diagnosis", "episode-of-care", "identifier", "length", "location", "location-period", "part-of", "participant",
		"participant-type", "practitioner", "reason-code", "reason-reference", "service-provider", "special-arrangement", "type",
	},
	TypeDocumentReference: {
		"authenticator", "author", "category", "contenttype", "custodian", "description", "encounter", "event", "facility", "format", "identifier",
		"language", "location", "period", "related", "relatesto", "relation", "relationship", "security-label", "setting", "type",
	},
	TypeCommunication: {
		"based-on", "category", "encounter", "identifier", "instantiates-canonical", "instantiates-uri", "medium", "part-of", "received", "recipient", "sender",
	},
}

// UnservedParams returns R4's parameters of a type that are not served.
func UnservedParams(resourceType string) []string {
	return slices.Concat(unservedParams[resourceType], unservedParams[""])
}
