package importfile

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// cpfSystems are the names under which Brazilian systems keep a CPF.
var cpfSystems = []string{
	"urn:oid:2.16.840.1.113883.13.237",
	"http://rnds.saude.gov.br/fhir/r4/NamingSystem/cpf",
	"https://rnds.saude.gov.br/fhir/r4/NamingSystem/cpf",
	"https://saude.gov.br/sid/cpf",
}

// resource is what is read of a FHIR Patient.
type resource struct {
	ResourceType string
	ID           string
	Identifier   []struct{ System, Value string }
	Active       *bool
	Name         []humanName
	Telecom      []contact
	BirthDate    string

	DeceasedBoolean  bool
	DeceasedDateTime string
}

type humanName struct {
	Use, Text, Family string
	Given             []string
}

type contact struct {
	System, Value, Use string
	Rank               int
}

// patient reads a line of FHIR.
func patient(line []byte) (row Row, blank bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return row, true
	}
	var p resource
	if !utf8.Valid(line) || json.Unmarshal(line, &p) != nil {
		return Row{Problem: "is not a FHIR resource in JSON"}, false
	}
	if p.ResourceType == "Bundle" {
		return Row{Problem: "is a Bundle: write each Patient of it on a line of its own"}, false
	}
	if p.ResourceType != "Patient" {
		return Row{Problem: "resourceType must be Patient: no other resources are imported"}, false
	}
	row = Row{Ref: p.ID, Name: best(p.Name), Phone: reach(p.Telecom, "phone", "sms"), Email: reach(p.Telecom, "email")}
	for _, one := range p.Identifier {
		if slices.Contains(cpfSystems, one.System) {
			put(&row.CPF, one.Value)
		}
	}
	switch {
	case p.DeceasedBoolean || p.DeceasedDateTime != "": // whatever else is said: nobody writes to them
		row.Status = inactive
	case p.Active != nil:
		row.Status = map[bool]string{true: active, false: inactive}[*p.Active]
	}
	if p.BirthDate != "" {
		if _, err := time.Parse(time.DateOnly, p.BirthDate); err != nil {
			return Row{Problem: "birthDate must be a whole date like 1980-03-02"}, false
		}
		row.BirthDate = p.BirthDate
	}
	for _, text := range []*string{&row.Ref, &row.Name, &row.Phone, &row.Email, &row.CPF} {
		var ok bool
		if *text, ok = clean(*text); !ok {
			return Row{Problem: "has characters that are no text"}, false
		}
	}
	return row, false
}

// uses of names, the best first; those left out come last.
var uses = []string{"official", "usual", ""}

// best is the name a patient is known by.
func best(names []humanName) string {
	found, rank := "", len(uses)+1
	for _, n := range names {
		text := n.Text
		if text == "" {
			text = strings.Join(append(slices.Clone(n.Given), n.Family), " ")
		}
		place := slices.Index(uses, n.Use)
		if place < 0 {
			place = len(uses)
		}
		if strings.TrimSpace(text) != "" && place < rank {
			found, rank = text, place
		}
	}
	return found
}

// reach is the number or address to reach a patient at: the preferred one, mobiles
// before others, none that is old.
func reach(list []contact, systems ...string) string {
	const unranked = 1 << 20
	found, best := "", 2*unranked
	for _, c := range list {
		if !slices.Contains(systems, c.System) || c.Use == "old" || c.Value == "" {
			continue
		}
		place := c.Rank * 2
		if c.Rank <= 0 {
			place = unranked
		}
		if c.Use != "mobile" {
			place++
		}
		if place < best {
			found, best = c.Value, place
		}
	}
	return found
}
