package store

import (
	"errors"
	"fmt"
)

// maxFailures is how many errors of a job are reported as they are; more are counted.
const maxFailures = 10

// failures collects the errors of a job that goes on with its other rows.
type failures struct {
	errs  []error
	count int
}

// add adds an error, unless it is nil.
func (f *failures) add(err error) {
	if err == nil {
		return
	}
	if f.count++; f.count <= maxFailures {
		f.errs = append(f.errs, err)
	}
}

// joined returns the errors as a single error, or nil if there were none.
func (f *failures) joined() error {
	if f.count > maxFailures {
		return errors.Join(append(f.errs, fmt.Errorf("%d more failed", f.count-maxFailures))...)
	}
	return errors.Join(f.errs...)
}
