package booking

import (
	"time"

	"integrationhub/hub"
)

// TransitionError is returned for an action that is not possible in the
// appointment's state. It unwraps to a [hub.Error] of kind ErrConflict and code
// invalid_transition.
type TransitionError struct {
	Problem *hub.Error
	Status  Status   // the appointment's
	Allowed []Action // the possible actions
}

// Error implements error.
func (e *TransitionError) Error() string { return e.Problem.Error() }

// Unwrap returns the hub's error.
func (e *TransitionError) Unwrap() error { return e.Problem }

// WindowClosedError is returned when it is too late for a client to change an
// appointment online. It unwraps to a [hub.Error] of kind ErrConflict.
type WindowClosedError struct {
	Problem  *hub.Error
	Deadline time.Time // the last moment at which it was possible
}

// Error implements error.
func (e *WindowClosedError) Error() string { return e.Problem.Error() }

// Unwrap returns the hub's error.
func (e *WindowClosedError) Unwrap() error { return e.Problem }

// SlotTakenError is returned for a time that cannot be booked, with alternatives. It
// unwraps to a [hub.Error] of kind ErrConflict and code slot_unavailable.
type SlotTakenError struct {
	Problem      *hub.Error
	Alternatives []Slot
}

// Error implements error.
func (e *SlotTakenError) Error() string { return e.Problem.Error() }

// Unwrap returns the hub's error.
func (e *SlotTakenError) Unwrap() error { return e.Problem }

// NewSlotTakenError returns a [SlotTakenError].
func NewSlotTakenError(alternatives []Slot) *SlotTakenError {
	return &SlotTakenError{hub.Errorf(hub.ErrConflict, "slot_unavailable", "Time slot not available"), alternatives}
}
