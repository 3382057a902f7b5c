package importfile

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// cpfSystems are the identifier systems of the CPF in Brazilian systems.
var cpfSystems = []string{
	"urn:oid:2.16.840.1.113883.13.237",
	"http://rnds.saude.gov.br/fhir/r4/NamingSystem/cpf",
	"https://rnds.saude.gov.br/fhir/r4/NamingSystem/cpf",
	"https://saude.gov.br/sid/cpf",
	"https://saude.gov.br/fhir/sid/cpf",
	"https://rnds-fhir.saude.gov.br/NamingSystem/cpf",
}

// patientResource has the members of a FHIR Patient that are read.
type patientResource struct {
	ResourceType string
	ID           string
	Identifier   []struct{ System, Value string }
	Active       *bool
	Name         []humanName
	Telecom      []contactPoint
	BirthDate    string

	DeceasedBoolean  bool
	DeceasedDateTime string
}

type humanName struct {
	Use, Text, Family string
	Given             []string
}

type contactPoint struct {
	System, Value, Use string
	Rank               int
}

// parsePatient parses a line with a FHIR resource.
func parsePatient(line []byte) (row Row, blank bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return row, true
	}
	var p patientResource
	if !utf8.Valid(line) || json.Unmarshal(line, &p) != nil {
		return Row{Problem: "is not a FHIR resource in JSON"}, false
	}
	if p.ResourceType == "Bundle" {
		return Row{Problem: "is a Bundle: write each Patient of it on a line of its own"}, false
	}
	if p.ResourceType != "Patient" {
		return Row{Problem: "resourceType must be Patient: no other resources are imported"}, false
	}
	row = Row{ExternalRef: p.ID, Name: bestName(p.Name), Phone: bestContact(p.Telecom, "phone", "sms"), Email: bestContact(p.Telecom, "email")}
	for _, identifier := range p.Identifier {
		if slices.Contains(cpfSystems, identifier.System) {
			setIfEmpty(&row.CPF, identifier.Value)
		} else if identifier.Value == p.ID { // the id is that system's
			setIfEmpty(&row.Source, identifier.System)
		}
	}
	switch {
	case p.DeceasedBoolean || p.DeceasedDateTime != "": // even if active is true: nobody contacts the patient
		row.Status = inactive
	case p.Active != nil:
		row.Status = map[bool]string{true: active, false: inactive}[*p.Active]
	}
	if p.BirthDate != "" {
		row.setFHIRBirthDate(p.BirthDate)
	}
	for _, field := range []struct {
		kind column
		text *string
	}{{externalRef, &row.ExternalRef}, {other, &row.Source}, {name, &row.Name}, {phone, &row.Phone}, {email, &row.Email}, {cpf, &row.CPF}} {
		var ok bool
		if *field.text, ok = cleanText(*field.text); !ok {
			return Row{Problem: "has characters that are no text"}, false
		}
		if *field.text != "" && isPlaceholder(field.kind, *field.text) {
			row.warn(fields[field.kind], "is a placeholder")
			*field.text = ""
		}
	}
	return row, false
}

// setFHIRBirthDate stores a date of birth, which may lack its day and month.
func (r *Row) setFHIRBirthDate(text string) {
	_, err := time.Parse(time.DateOnly, text)
	switch {
	case err == nil:
		r.BirthDate = text
	case isPartialDate(text):
		r.PartialDate = text
		r.warn("birth_date", "is not a whole date")
	default:
		r.HasUnreadableDate = true
		r.warn("birth_date", "must be a date like 1980-03-02")
	}
}

// nameUses are the uses of names, the best first; all others rank last.
var nameUses = []string{"official", "usual", ""}

// bestName returns the name with the best use.
func bestName(names []humanName) string {
	best, bestRank := "", len(nameUses)+1
	for _, name := range names {
		text := name.Text
		if text == "" {
			text = strings.Join(append(slices.Clone(name.Given), name.Family), " ")
		}
		rank := slices.Index(nameUses, name.Use)
		if rank < 0 {
			rank = len(nameUses)
		}
		if strings.TrimSpace(text) != "" && rank < bestRank {
			best, bestRank = text, rank
		}
	}
	return best
}

// bestContact returns the number or address of some systems with the best rank, mobile ones
// before others. Old ones do not count.
func bestContact(contacts []contactPoint, systems ...string) string {
	const unranked = 1 << 20
	best, bestRank := "", 2*unranked
	for _, contact := range contacts {
		if !slices.Contains(systems, contact.System) || contact.Use == "old" || contact.Value == "" {
			continue
		}
		rank := contact.Rank * 2
		if contact.Rank <= 0 {
			rank = unranked
		}
		if contact.Use != "mobile" {
			rank++
		}
		if rank < bestRank {
			best, bestRank = contact.Value, rank
		}
	}
	return best
}
