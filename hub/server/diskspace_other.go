//go:build !linux && !darwin

package server

import "errors"

// diskSpace returns the free space of a disk where the system's call for it is known.
func diskSpace(string) (free, total uint64, err error) {
	return 0, 0, errors.ErrUnsupported
}
