package imports

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
)

// candidate is a patient that rows of a file may describe.
type candidate struct {
	store.Patient
	refs             map[string]string // numbers in lists, by list; "" is the clinic's own
	firstMatchedLine int               // the line of the import that described this patient; 0 = none so far
}

// patientIndex finds the patient that a row describes among candidates.
type patientIndex struct {
	byID   map[uuid.UUID]*candidate
	byRef  map[reference]*candidate
	byCPF  map[string]*candidate   // by hash, in hexadecimal
	byName map[string][]*candidate // by folded name
}

func newPatientIndex() *patientIndex {
	return &patientIndex{make(map[uuid.UUID]*candidate), make(map[reference]*candidate), make(map[string]*candidate), make(map[string][]*candidate)}
}

// add adds a candidate under its present identifiers.
func (x *patientIndex) add(c *candidate) {
	x.byID[c.ID] = c
	for source, text := range c.refs {
		x.byRef[reference{source, text}] = c
	}
	if c.CpfHmac != nil {
		x.byCPF[hex.EncodeToString(c.CpfHmac)] = c
	}
	name := care.FoldName(c.Name)
	x.byName[name] = append(x.byName[name], c)
}

// update replaces the data of a candidate that a row has changed.
func (x *patientIndex) update(c *candidate, changed store.Patient, row parsedRow) {
	name := care.FoldName(c.Name)
	x.byName[name] = slices.DeleteFunc(x.byName[name], func(other *candidate) bool { return other == c })
	if row.addsReference(c) {
		c.refs[row.ref.source] = row.ref.text
	}
	c.Patient = changed
	x.add(c)
}

// decision says what becomes of a row.
type decision struct {
	patient *candidate // whom the row describes; nil = a new patient
	problem string     // why the row is refused, for users; "" if it is not
	warning string     // what users should look at, "" if nothing
}

// match decides whom a row describes. An identifier finds a patient only if the names and
// the birth dates agree, so that nothing is mixed from two people. Without an identifier
// the name, the phone number and the birth date find a patient together.
func (x *patientIndex) match(row parsedRow) decision {
	type identified struct {
		by      string
		patient *candidate
	}
	var matches []identified
	for _, m := range []identified{{"id", x.byID[row.exportedID]}, {"external_id", x.byRef[row.ref]}, {"cpf", x.byCPF[hex.EncodeToString(row.cpfHash)]}} {
		if m.patient != nil {
			matches = append(matches, m)
		}
	}
	if len(matches) == 0 {
		return x.matchByName(row)
	}
	first, last := matches[0], matches[len(matches)-1]
	switch contradiction := row.contradiction(first.patient); {
	case first.patient.Status == store.Anonymized:
		return decision{patient: first.patient}
	case first.patient != last.patient:
		return decision{problem: fmt.Sprintf("%s is that of %s, %s is that of %s", first.by, care.Initials(first.patient.Name), last.by, care.Initials(last.patient.Name))}
	case contradiction != "":
		return decision{problem: fmt.Sprintf("%s is that of %s, and this line is about %s: %s", first.by, care.Initials(first.patient.Name), care.Initials(row.Name), contradiction)}
	}
	return decision{patient: first.patient}
}

// contradiction says why a row cannot describe a patient who has one of its identifiers,
// for users; "" if it can.
func (r parsedRow) contradiction(c *candidate) string {
	birth := r.compareBirthDate(c)
	agree := func(sameBirthDate bool) bool {
		return slices.ContainsFunc(r.names(), func(name string) bool { return care.NamesAgree(name, c.Name, sameBirthDate) })
	}
	var differs []string
	if !agree(true) {
		differs = append(differs, "the name")
	}
	if birth == birthDiffers {
		differs = append(differs, "the birth date")
	}
	if r.hasOtherCPF(c) {
		differs = append(differs, "the CPF")
	}
	switch {
	case len(differs) == 1:
		return differs[0] + " differs"
	case len(differs) > 1:
		return strings.Join(differs, " and ") + " differ"
	case !agree(birth == birthAgrees):
		return "the names differ in words, and there is no birth date on both sides"
	}
	return ""
}

func (r parsedRow) hasOtherCPF(c *candidate) bool {
	return r.cpfHash != nil && c.CpfHmac != nil && !bytes.Equal(r.cpfHash, c.CpfHmac)
}

// birthComparison is how two birth dates relate.
type birthComparison int

const (
	birthUnknown birthComparison = iota // on one side at least, or only its year and month
	birthAgrees
	birthDiffers
)

func (r parsedRow) compareBirthDate(c *candidate) birthComparison {
	switch {
	case c.BirthDate == nil:
		return birthUnknown
	case r.BirthDate != nil && r.BirthDate.Equal(*c.BirthDate):
		return birthAgrees
	case r.BirthDate != nil, !strings.HasPrefix(c.BirthDate.Format(time.DateOnly), r.partialDate):
		return birthDiffers
	}
	return birthUnknown
}

// matchByName returns the patient with a row's name, phone number and birth date; two
// missing numbers count as the same. Without a birth date on both sides a row describes a
// patient only if it adds nothing that identifies people, as families share numbers and
// names.
func (x *patientIndex) matchByName(row parsedRow) decision {
	var matching, similar []*candidate
	for _, c := range x.byName[care.FoldName(row.Name)] {
		birth := row.compareBirthDate(c)
		switch {
		case c.Status == store.Anonymized, phoneKey(row.Phone) != phoneKey(c.Phone), row.hasOtherCPF(c), birth == birthDiffers:
		case birth == birthAgrees:
			return decision{patient: c}
		case row.addsIdentity(c):
			similar = append(similar, c)
		default:
			matching = append(matching, c)
		}
	}
	if i := slices.IndexFunc(matching, func(c *candidate) bool { return !row.hasNewData(c) }); i >= 0 {
		return decision{patient: matching[i]}
	}
	switch {
	case len(matching) > 1:
		return decision{problem: fmt.Sprintf("%d patients have this name and phone number: add the CPF, the birth date or the external_id", len(matching))}
	case len(matching) == 1:
		return decision{patient: matching[0]}
	case len(similar) > 0 && row.Phone != nil:
		return decision{warning: fmt.Sprintf("made a new patient beside %s, who has the same name and phone number: neither a CPF nor a birth date shows that they are the same", care.Initials(similar[0].Name))}
	}
	return decision{}
}

// addsIdentity reports whether the row has something that identifies people and that the
// patient, who has the same name and phone number, lacks. Where there is no phone number,
// that includes the e-mail address.
func (r parsedRow) addsIdentity(c *candidate) bool {
	addsEmail := r.Phone == nil && r.Email != nil && (c.Email == nil || *r.Email != *c.Email)
	return r.cpfHash != nil || r.BirthDate != nil || r.addsReference(c) || addsEmail
}

// phoneKey is [care.PhoneKey] for an optional number, "" for none.
func phoneKey(phone *string) string {
	if phone == nil {
		return ""
	}
	return care.PhoneKey(*phone)
}
