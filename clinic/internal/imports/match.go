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
	mergedRefs       []reference       // further numbers in them, of patients who were merged into this one
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
	for _, ref := range c.mergedRefs {
		if x.byRef[ref] == nil { // who has it now has it first
			x.byRef[ref] = c
		}
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
	if row.hasOtherReference(first.patient) { // by CPF: the list has this person twice
		return decision{patient: first.patient, warning: "external_id is another one than that of " + care.Initials(first.patient.Name) + ", who has this " + first.by + ": left out"}
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

// namesakes are the patients with a row's name and phone number, by what their birth dates say.
type namesakes struct {
	agreeing []*candidate // the birth dates are equal
	matching []*candidate // no birth date says otherwise, and the row adds nothing that identifies people
	similar  []*candidate // all others
}

// findNamesakes returns the patients that a row may describe without an identifier. Two
// missing phone numbers count as the same.
func (x *patientIndex) findNamesakes(row parsedRow) (found namesakes) {
	for _, c := range x.byName[care.FoldName(row.Name)] {
		birth := row.compareBirthDate(c)
		switch {
		case c.Status == store.Anonymized, phoneKey(row.Phone) != phoneKey(c.Phone), row.hasOtherCPF(c), birth == birthDiffers:
		case row.hasOtherReference(c):
			found.similar = append(found.similar, c)
		case birth == birthAgrees:
			found.agreeing = append(found.agreeing, c)
		case row.addsIdentity(c):
			found.similar = append(found.similar, c)
		default:
			found.matching = append(found.matching, c)
		}
	}
	return found
}

// matchByName returns the patient with a row's name, phone number and birth date. Without a
// birth date on both sides a row describes a patient only if it adds nothing that identifies
// people, as families share numbers and names.
func (x *patientIndex) matchByName(row parsedRow) decision {
	found := x.findNamesakes(row)
	if row.isUncertain {
		return found.matchUncertain(row)
	}
	for _, same := range []struct {
		candidates []*candidate
		by, add    string
	}{
		{found.agreeing, "name, phone number and birth date", "the CPF or the external_id"},
		{found.matching, "name and phone number", "the CPF, the birth date or the external_id"},
	} {
		if i := slices.IndexFunc(same.candidates, func(c *candidate) bool { return !row.hasNewData(c) }); i >= 0 {
			return decision{patient: same.candidates[i]}
		}
		switch len(same.candidates) {
		case 0:
		case 1:
			return decision{patient: same.candidates[0]}
		default:
			return decision{problem: fmt.Sprintf("%d patients have this %s: add %s", len(same.candidates), same.by, same.add)}
		}
	}
	if len(found.similar) == 0 || phoneKey(row.Phone) == "" {
		return decision{}
	}
	reason := "neither a CPF nor a birth date shows that they are the same"
	if row.hasOtherReference(found.similar[0]) {
		reason = "the external_id is another one"
	}
	return decision{warning: fmt.Sprintf("made a new patient beside %s, who has the same name and phone number: %s", care.Initials(found.similar[0].Name), reason)}
}

// matchUncertain decides about a row with a phone number, a CPF or a birth date that cannot
// be read. It may describe a namesake only if it has nothing new about that patient, and no
// earlier line describes them; so importing the file again changes nothing.
func (n namesakes) matchUncertain(row parsedRow) decision {
	all := slices.Concat(n.agreeing, n.matching, n.similar)
	isSame := func(c *candidate) bool {
		return c.firstMatchedLine == 0 && !row.hasNewData(c) && !row.hasOtherReference(c)
	}
	if i := slices.IndexFunc(all, isSame); i >= 0 {
		return decision{patient: all[i]}
	}
	if len(all) == 0 {
		return decision{}
	}
	return decision{warning: "made a new patient beside " + care.Initials(all[0].Name) + ", who has the same name: what was left out of this line may say that they differ"}
}

// addsIdentity reports whether the row has something that identifies people and that the
// patient, who has the same name and phone number, lacks. Where there is no phone number,
// that includes the e-mail address.
func (r parsedRow) addsIdentity(c *candidate) bool {
	addsEmail := phoneKey(r.Phone) == "" && r.Email != nil && (c.Email == nil || *r.Email != *c.Email)
	return r.cpfHash != nil || r.BirthDate != nil || r.addsReference(c) || addsEmail
}

// phoneKey is [care.PhoneKey] for an optional number, "" for none, and for one that forms are
// filled with.
func phoneKey(phone *string) string {
	if phone == nil || care.IsFillerPhone(*phone) {
		return ""
	}
	return care.PhoneKey(*phone)
}
