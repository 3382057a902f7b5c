package imports

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest/families"
	"integrationhub/clinic/internal/store"
)

// memoryClinic imports into memory by the rules of a real import.
type memoryClinic struct {
	index    *patientIndex
	patients []*candidate
	entered  map[uuid.UUID]int // whom patients were entered for
	failed   int
}

func plainHash(digits string) []byte { return []byte(digits) }

func testParser(source string) *rowParser {
	return &rowParser{
		today: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), areaCode: "11", source: source, hashCPF: plainHash, maskID: func(id string) string { return id },
	}
}

func (m *memoryClinic) add(row parsedRow) *candidate {
	p := store.Patient{ID: uuid.New(), Name: row.Name, Phone: row.Phone, Email: row.Email, CpfHmac: row.cpfHash, BirthDate: row.BirthDate, Status: store.Active, ExternalRef: row.ExternalRef}
	c := newCandidate(p)
	m.index.update(c, p, row)
	m.patients = append(m.patients, c)
	return c
}

// importRow returns whether the row changed something.
func (m *memoryClinic) importRow(row parsedRow) bool {
	d := m.index.match(row)
	switch {
	case d.problem != "":
		m.failed++
	case d.patient == nil:
		m.add(row).firstMatchedLine = row.line.Line
		return true
	case !row.hasNewData(d.patient):
	case d.patient.firstMatchedLine > 0:
		m.failed++
		return false
	default:
		m.index.update(d.patient, row.applyTo(d.patient.Patient), row)
		d.patient.firstMatchedLine = row.line.Line
		return true
	}
	if d.patient != nil && d.patient.firstMatchedLine == 0 {
		d.patient.firstMatchedLine = row.line.Line
	}
	return false
}

func (m *memoryClinic) importFile(file families.Import) (changed int) {
	parser := testParser(file.Source)
	for _, c := range m.patients {
		c.firstMatchedLine = 0
	}
	for _, row := range file.Rows {
		if m.importRow(parser.parse(importLine{Row: row.Row})) {
			changed++
		}
	}
	return changed
}

// run plays a scenario and returns the first patient who is mixed from two people.
func (m *memoryClinic) run(s families.Scenario) error {
	for _, row := range s.ByHand {
		if parsed := testParser("").parse(importLine{Row: row.Row}); parsed.cpfHash == nil || m.index.byCPF[fmt.Sprintf("%x", parsed.cpfHash)] == nil {
			m.entered[m.add(parsed).ID] = row.Person
		}
	}
	for _, file := range s.Imports {
		m.importFile(file)
		for _, c := range m.patients {
			patient := families.Patient{Name: c.Name, CPF: string(c.CpfHmac), Refs: c.refs, EnteredFor: -1}
			if c.BirthDate != nil {
				patient.BirthDate = c.BirthDate.Format(time.DateOnly)
			}
			if person, ok := m.entered[c.ID]; ok {
				patient.EnteredFor = person
			}
			if err := s.Check(patient); err != nil {
				return err
			}
		}
	}
	return nil
}

func newMemoryClinic() *memoryClinic {
	return &memoryClinic{index: newPatientIndex(), entered: make(map[uuid.UUID]int)}
}

// Whatever lists say about families who share names, numbers and tax ids, no patient ends
// with the name of one person and the record, the CPF, the birth date or the number of
// another; and a file that has every person once changes nothing when it is imported again.
func TestPatientsAreNeverMixed(t *testing.T) {
	t.Parallel()
	fails := func(s families.Scenario) bool { return newMemoryClinic().run(s) != nil }
	failed, patients := 0, 0
	for seed := range uint64(2000) {
		s := families.New(seed)
		clinic := newMemoryClinic()
		if err := clinic.run(s); err != nil {
			smallest := families.Shrink(s, fails)
			require.NoError(t, newMemoryClinic().run(smallest), "seed %d: %+v", seed, smallest)
		}
		failed, patients = failed+clinic.failed, patients+len(clinic.patients)
		last := s.Imports[len(s.Imports)-1].Unique()
		clinic.importFile(last)
		require.Zero(t, clinic.importFile(last), "seed %d: %s", seed, last.CSV())
	}
	require.Positive(t, failed, "some lines are refused")
	require.Greater(t, patients, 8*2000, "and patients come in nevertheless")
}
