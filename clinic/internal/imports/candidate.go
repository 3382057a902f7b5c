package imports

import "integrationhub/clinic/internal/store/dbgen"

// candidate is a patient that rows of a batch may describe.
type candidate struct {
	dbgen.Patient
	firstMatchedLine int // the line of the import that described this patient; 0 = none so far
}
