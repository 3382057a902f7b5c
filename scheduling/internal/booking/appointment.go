package booking

import (
	"slices"

	"integrationhub/hub"
)

// Status is the state of an appointment.
type Status string

// The states of an appointment.
const (
	Scheduled Status = "scheduled"
	Confirmed Status = "confirmed"
	Completed Status = "completed"
	Cancelled Status = "cancelled"
	NoShow    Status = "no_show"
)

// Statuses are all states, in the order of an appointment's life.
func Statuses() []Status { return []Status{Scheduled, Confirmed, Completed, Cancelled, NoShow} }

// Valid reports whether s is one of the states.
func (s Status) Valid() bool { return slices.Contains(Statuses(), s) }

// Blocks reports whether an appointment in this state takes its professional's time.
func (s Status) Blocks() bool { return s == Scheduled || s == Confirmed || s == Completed }

// Terminal reports whether the appointment is over; only [Reopen] leads back.
func (s Status) Terminal() bool { return s == Completed || s == Cancelled || s == NoShow }

// Source is where an appointment was booked.
type Source string

// The sources of appointments.
const (
	SourceWeb         Source = "web"         // public booking
	SourceDashboard   Source = "dashboard"   // staff, signed in
	SourceAPI         Source = "api"         // staff's programs
	SourceIntegration Source = "integration" // a connected product
)

// InitialStatus is the status of a new appointment. Staff's start scheduled, whatever
// auto_confirm says; so does one whose deposit is still to be paid.
func (p Policy) InitialStatus(source Source, deposit DepositStatus) Status {
	if p.AutoConfirm && deposit != DepositPending && (source == SourceWeb || source == SourceIntegration) {
		return Confirmed
	}
	return Scheduled
}

// ActorKind is the kind of person or system that changes an appointment; cancelled_by
// stores it.
type ActorKind string

// The actors.
const (
	ActorStaff       ActorKind = "staff"
	ActorClient      ActorKind = "client"      // by the appointment's token
	ActorSystem      ActorKind = "system"      // e.g. an unpaid deposit
	ActorIntegration ActorKind = "integration" // a connected product
)

// Action is a change of an appointment that decides its status.
type Action string

// The actions, named as the last part of their paths.
const (
	Confirm    Action = "confirm"
	Cancel     Action = "cancel"
	Complete   Action = "complete"
	MarkNoShow Action = "noshow"
	Reschedule Action = "reschedule"
	Reopen     Action = "reopen" // owners and administrators: undoes a mistake
)

// Actions are all actions.
func Actions() []Action {
	return []Action{Confirm, Cancel, Complete, MarkNoShow, Reschedule, Reopen}
}

// transitionRule has the states an action starts from and the state it ends in.
type transitionRule struct {
	from []Status
	to   Status // empty: the state stays; see Action.Apply for the exception
}

func (a Action) rule() transitionRule {
	open := []Status{Scheduled, Confirmed}
	switch a {
	case Confirm:
		return transitionRule{from: []Status{Scheduled}, to: Confirmed}
	case Cancel:
		return transitionRule{from: open, to: Cancelled}
	case Complete:
		return transitionRule{from: open, to: Completed}
	case MarkNoShow:
		return transitionRule{from: open, to: NoShow}
	case Reschedule:
		return transitionRule{from: open}
	case Reopen:
		return transitionRule{from: []Status{Completed, NoShow}, to: Confirmed}
	default:
		return transitionRule{}
	}
}

// StartStates are the states in which the action changes something: the guard of the
// statement that writes the change.
func (a Action) StartStates() []Status { return a.rule().from }

// AllowedActions are the actions that change something in a state. Managers (owners and
// administrators) may also reopen.
func AllowedActions(status Status, manager bool) []Action {
	allowed := []Action{}
	for _, action := range Actions() {
		if slices.Contains(action.StartStates(), status) && (action != Reopen || manager) {
			allowed = append(allowed, action)
		}
	}
	return allowed
}

// Transition is the result of an action.
type Transition struct {
	To      Status
	Changed bool // false: the action was done before and has no further effect
}

// Apply returns the transition of an action. An action repeated in its own target
// state changes nothing and is no error. If a client reschedules a confirmed
// appointment and auto_confirm is off, it returns to scheduled. manager affects
// only the allowed actions in the error; the caller checks permission. The error
// is a *[TransitionError].
func (a Action) Apply(status Status, actor ActorKind, manager bool, policy Policy) (Transition, error) {
	rule := a.rule()
	switch {
	case rule.to != "" && status == rule.to:
		return Transition{To: status}, nil
	case !slices.Contains(rule.from, status):
		return Transition{}, &TransitionError{
			Problem: hub.Errorf(hub.ErrConflict, "invalid_transition", "Cannot %s an appointment with status '%s'", a.verb(), status),
			Status:  status, Allowed: AllowedActions(status, manager),
		}
	case a == Reschedule:
		if status == Confirmed && actor == ActorClient && !policy.AutoConfirm {
			return Transition{To: Scheduled, Changed: true}, nil
		}
		return Transition{To: status, Changed: true}, nil
	default:
		return Transition{To: rule.to, Changed: true}, nil
	}
}

func (a Action) verb() string {
	if a == MarkNoShow {
		return "mark as no-show"
	}
	return string(a)
}
