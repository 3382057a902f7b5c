// Package families generates files of patients who are easily mistaken for each other:
// families who share names, phone numbers and tax ids, in lists that number from 1 each.
// Only tests import it.
package families

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"integrationhub/clinic/internal/importfile"
)

// Row is what a list says about a person.
type Row struct {
	importfile.Row
	Person int // whom the row is about
}

// Scenario is a clinic's history: patients entered by hand, then imports.
type Scenario struct {
	ByHand  []Row
	Imports []Import
}

// Import is a file from one list.
type Import struct {
	Source string // the list; "" is the clinic's own
	Rows   []Row
}

// Unique returns the import with the first row of each person only.
func (i Import) Unique() Import {
	seen := make(map[int]bool)
	rows := slices.DeleteFunc(slices.Clone(i.Rows), func(row Row) bool {
		known := seen[row.Person]
		seen[row.Person] = true
		return known
	})
	return Import{i.Source, rows}
}

// CSV returns the import's file.
func (i Import) CSV() string {
	var b strings.Builder
	b.WriteString("external_id;name;phone;email;cpf;birth_date\n")
	for _, row := range i.Rows {
		fmt.Fprintf(&b, "%s;\"%s\";%s;%s;%s;%s\n", row.ExternalRef, row.Name, row.Phone, row.Email, row.CPF, row.BirthDate)
	}
	return b.String()
}

// person is a person in the lists.
type person struct {
	names        []string // as lists write the name
	phone, email string
	cpf, born    string
	parentCPF    string // "" if no list has the person under it
	numbers      []int  // in the lists
}

// lists are the sources of the lists: two are taken for the clinic's own.
var lists = []string{"", "", "other clinic"}

// CPF returns a valid CPF for a number up to 99, which its last two digits are not always.
func CPF(n int) string {
	digits := fmt.Sprintf("%09d", 529_982_000+n*7)
	for length := 9; length <= 10; length++ {
		sum := 0
		for i := range length {
			sum += int(digits[i]-'0') * (length + 1 - i)
		}
		digits += fmt.Sprint(sum * 10 % 11 % 10)
	}
	return digits
}

// New returns a scenario; the same seed always has the same one.
func New(seed uint64) Scenario {
	random := rand.New(rand.NewPCG(seed, 1))
	people := newPeople(random)
	var s Scenario
	for i := range people {
		if random.IntN(3) == 0 {
			row := newRow(random, people, i, 0)
			row.ExternalRef = ""
			s.ByHand = append(s.ByHand, row)
		}
	}
	for range 2 + random.IntN(3) {
		list := random.IntN(len(lists))
		file := Import{Source: lists[list]}
		for range 1 + random.IntN(2*len(people)) {
			file.Rows = append(file.Rows, newRow(random, people, random.IntN(len(people)), list))
		}
		for i := range file.Rows {
			file.Rows[i].Line = i + 2
		}
		s.Imports = append(s.Imports, file)
	}
	return s
}

// newPeople returns two families.
func newPeople(random *rand.Rand) (people []person) {
	for family, surname := range []string{"Souza", "Conceição"} {
		phone := fmt.Sprintf("+551198765000%d", family)
		add := func(name, born, parentCPF string) string {
			n := len(people)
			p := person{names: []string{name, strings.ToUpper(name)}, phone: phone, born: born, cpf: CPF(n), parentCPF: parentCPF, email: fmt.Sprintf("p%d@example.com", n)}
			if words := strings.Fields(name); len(words) == 3 && parentCPF == "" {
				p.names = append(p.names, words[0]+" "+words[1][:1]+". "+words[2], words[2]+", "+words[0]+" "+words[1])
			}
			for range lists {
				p.numbers = append(p.numbers, 0)
			}
			people = append(people, p)
			return p.cpf
		}
		mother := add("Maria "+surname, "1970-01-02", "")
		father := add("José "+surname, "1968-03-04", "")
		add("José "+surname+" Filho", "2001-05-06", father)
		add("Maria Clara "+surname, "2010-07-08", mother) // twins
		add("Maria Luisa "+surname, "2010-07-08", mother)
		add("Ana "+surname, "2012-09-10", mother)
		add("Rui Lima "+surname, "1999-11-12", "")
		add("José "+surname, "1995-01-30", "") // a namesake under the same number
	}
	for list := range lists {
		for number, i := range random.Perm(len(people)) {
			people[i].numbers[list] = number + 1
		}
	}
	separateNamesakes(people)
	return people
}

// separateNamesakes makes sure that people with the same name have different numbers in
// the lists that are taken for one: they could not be distinguished otherwise.
func separateNamesakes(people []person) {
	for i := range people {
		if slices.ContainsFunc(people[:i], func(other person) bool { return other.names[0] == people[i].names[0] }) {
			for list := range lists {
				people[i].numbers[list] += 1000
			}
		}
	}
}

// newRow returns what a list says about a person; anything but the name may be missing.
func newRow(random *rand.Rand, people []person, i, list int) Row {
	p := people[i]
	row := Row{Person: i}
	row.Name = p.names[random.IntN(len(p.names))]
	for _, field := range []struct {
		target *string
		value  string
	}{
		{&row.ExternalRef, fmt.Sprint(p.numbers[list])}, {&row.Phone, p.phone}, {&row.Email, p.email}, {&row.CPF, p.cpf}, {&row.BirthDate, p.born},
	} {
		if random.IntN(2) == 0 {
			*field.target = field.value
		}
	}
	if row.CPF != "" && p.parentCPF != "" && random.IntN(2) == 0 {
		row.CPF = p.parentCPF
	}
	return row
}

// Patient is a patient as a clinic has it at the end; "" is what it lacks.
type Patient struct {
	Name, CPF, BirthDate string
	Refs                 map[string]string // numbers by list
	EnteredFor           int               // who was entered by hand; -1 if no person was
}

// Check returns an error unless all that a clinic has about a patient was said about one
// and the same person.
func (s Scenario) Check(patient Patient) error {
	// By pointer: thousands of scenarios are checked, and the race detector looks at each
	// byte of a row that is copied.
	rows := func(yield func(*Row, string) bool) {
		for i := range s.ByHand {
			if !yield(&s.ByHand[i], "") {
				return
			}
		}
		for i := range s.Imports {
			file := &s.Imports[i]
			for j := range file.Rows {
				if !yield(&file.Rows[j], file.Source) {
					return
				}
			}
		}
	}
	reports := func(person int, is func(*Row, string) bool) bool {
		for row, source := range rows {
			if row.Person == person && is(row, source) {
				return true
			}
		}
		return false
	}
	highest := 0
	for row := range rows {
		highest = max(highest, row.Person)
	}
	for person := 0; person <= highest; person++ {
		ok := reports(person, func(row *Row, _ string) bool { return strings.EqualFold(row.Name, patient.Name) }) &&
			(patient.CPF == "" || reports(person, func(row *Row, _ string) bool { return strings.HasSuffix(row.CPF, patient.CPF) && row.CPF != "" })) &&
			(patient.BirthDate == "" || reports(person, func(row *Row, _ string) bool { return row.BirthDate == patient.BirthDate })) &&
			(patient.EnteredFor < 0 || patient.EnteredFor == person)
		for source, number := range patient.Refs {
			ok = ok && reports(person, func(row *Row, in string) bool { return row.ExternalRef == number && in == source })
		}
		if ok {
			return nil
		}
	}
	return fmt.Errorf("%+v is not one person", patient)
}

// Shrink returns a smaller scenario that still fails.
func Shrink(s Scenario, fails func(Scenario) bool) Scenario {
	for changed := true; changed; {
		changed = false
		for _, smaller := range s.smaller() {
			if fails(smaller) {
				s, changed = smaller, true
				break
			}
		}
	}
	return s
}

// smaller returns the scenarios that lack one person, list or row.
func (s Scenario) smaller() (list []Scenario) {
	for i := range s.Imports {
		list = append(list, Scenario{s.ByHand, without(s.Imports, i)})
	}
	for i := range s.ByHand {
		list = append(list, Scenario{without(s.ByHand, i), s.Imports})
	}
	for i, file := range s.Imports {
		replace := func(rows []Row) {
			imports := slices.Clone(s.Imports)
			imports[i].Rows = rows
			list = append(list, Scenario{s.ByHand, imports})
		}
		for j := range file.Rows {
			replace(without(file.Rows, j))
		}
		for j := range file.Rows {
			for field := range 5 {
				rows := slices.Clone(file.Rows)
				target := []*string{&rows[j].ExternalRef, &rows[j].Phone, &rows[j].Email, &rows[j].CPF, &rows[j].BirthDate}[field]
				if *target != "" {
					*target = ""
					replace(rows)
				}
			}
		}
	}
	return list
}

func without[T any](list []T, i int) []T { return slices.Delete(slices.Clone(list), i, i+1) }
