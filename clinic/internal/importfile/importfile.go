// Package importfile reads files of patients from other systems: tables as spreadsheets
// write them (CSV), and FHIR R4 Patient resources, one on each line. It reads line by line
// and can resume at any line, with the header read again. Memory use does not grow with the
// file.
package importfile

// Format is a file format.
type Format string

// The formats.
const (
	CSV    Format = "csv"
	NDJSON Format = "fhir-ndjson"
)

// Row is what a file says about one patient; "" is what it does not say. White space, dates,
// statuses and the leading zeros of a CPF are normalized. Placeholders such as "N/A" are
// left out with a warning. Nothing else is validated.
type Row struct {
	Line        int    // where the row begins; the first line is 1
	ExternalRef string // the patient's id in the system that wrote the file (column external_id)
	Source      string // that system, if the file names it
	Name        string // as the patient is called
	CivilName   string // as documents have it, if Name is a social name
	Phone       string
	OtherPhones []string // further numbers, the better ones first
	Email       string
	CPF         string
	BirthDate   string // YYYY-MM-DD
	PartialDate string // of birth: YYYY or YYYY-MM, where the file does not have the day
	Status      string // active or inactive
	// HasUnreadableDate reports that there is a date of birth and it cannot be read.
	HasUnreadableDate bool
	// Warnings say what of the row was left out, for users and without its values.
	Warnings []string
	// Problem says why the row cannot be read, for users and without its values; "" if it
	// can. The other fields but Line are empty then.
	Problem string
}
