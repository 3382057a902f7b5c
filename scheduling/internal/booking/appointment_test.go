package booking

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// machine is testdata/appointments.json, as far as it speaks of states and texts.
type machine struct {
	States map[Status]struct {
		Blocks   bool `json:"blocks_time"`
		Terminal bool `json:"terminal"`
	} `json:"states"`
	Actions map[string]struct {
		From   map[Status]string `json:"from"`
		Repeat Status            `json:"repeat_ok_in"`
	} `json:"actions"`
	Matrix map[string]json.RawMessage `json:"matrix_http"`
	Errors []struct {
		When   string `json:"when"`
		Status int    `json:"status"`
		Body   struct {
			Detail            string   `json:"detail"`
			Code              string   `json:"code"`
			AppointmentStatus Status   `json:"appointment_status"`
			Allowed           []Action `json:"allowed"`
		} `json:"body"`
	} `json:"errors"`
}

func readMachine(t *testing.T) machine {
	t.Helper()
	raw, err := os.ReadFile("testdata/appointments.json")
	require.NoError(t, err)
	var m machine
	require.NoError(t, json.Unmarshal(raw, &m))
	return m
}

func TestStates(t *testing.T) {
	t.Parallel()
	machine := readMachine(t)
	require.Len(t, Statuses(), len(machine.States))
	for status, state := range machine.States {
		require.True(t, status.Valid())
		require.Equal(t, state.Blocks, status.Blocks(), status)
		require.Equal(t, state.Terminal, status.Terminal(), status)
	}
	require.False(t, Status("noshow").Valid())
}

func TestActionsOfTheCases(t *testing.T) {
	t.Parallel()
	machine := readMachine(t)
	require.Len(t, Actions(), len(machine.Actions))
	for name, want := range machine.Actions {
		action := Action(strings.TrimSuffix(name, " (extension)"))
		require.Contains(t, Actions(), action)
		require.Len(t, action.StartStates(), len(want.From), action)
		for from, address := range want.From {
			require.Contains(t, action.StartStates(), from)
			staff, forClient, _ := strings.Cut(address, " (staff) | ")
			got, err := action.Apply(from, ActorStaff, true, Policy{})
			require.NoError(t, err)
			require.Equal(t, Transition{Status(staff), true}, got, "%s from %s", action, from)
			if forClient != "" {
				require.Equal(t, "scheduled (client, unless auto_confirm)", forClient)
				got, err = action.Apply(from, ActorClient, false, Policy{})
				require.NoError(t, err)
				require.Equal(t, Transition{Scheduled, true}, got)
				got, err = action.Apply(from, ActorClient, false, Policy{AutoConfirm: true})
				require.NoError(t, err)
				require.Equal(t, Transition{from, true}, got)
			}
		}
		if want.Repeat != "" {
			got, err := action.Apply(want.Repeat, ActorStaff, false, Policy{})
			require.NoError(t, err)
			require.Equal(t, Transition{want.Repeat, false}, got, "%s again", action)
		}
	}
}

func TestMatrixOfTheCases(t *testing.T) {
	t.Parallel()
	machine := readMachine(t)
	var columns []Status
	require.NoError(t, json.Unmarshal(machine.Matrix["columns"], &columns))
	delete(machine.Matrix, "columns")
	require.Len(t, machine.Matrix, 5)
	for action, row := range machine.Matrix {
		var statuses []int
		require.NoError(t, json.Unmarshal(row, &statuses))
		for i, from := range columns {
			_, err := Action(action).Apply(from, ActorStaff, false, Policy{})
			if statuses[i] == http.StatusOK {
				require.NoError(t, err, "%s from %s", action, from)
				continue
			}
			require.Equal(t, http.StatusConflict, statuses[i])
			var transition *TransitionError
			require.ErrorAs(t, err, &transition, "%s from %s", action, from)
			require.ErrorIs(t, err, hub.ErrConflict)
			require.Equal(t, from, transition.Status)
			for _, allowed := range transition.Allowed {
				got, err := allowed.Apply(from, ActorStaff, false, Policy{})
				require.NoError(t, err)
				require.True(t, got.Changed)
			}
		}
	}
	_, err := Action("delete").Apply(Scheduled, ActorStaff, true, Policy{})
	require.Error(t, err)
}

// TestErrorsOfTheCases compares every error that is decided here with the cases' text.
func TestErrorsOfTheCases(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	_, illegal := Confirm.Apply(Cancelled, ActorStaff, true, Policy{})
	policy := DefaultPolicy()
	policy.CancelNoticeMinutes, policy.RescheduleNoticeMinutes = 60, 60
	ours := map[string]error{
		"illegal transition":                          illegal,
		"reschedule/create onto taken time":           NewSlotTakenError(nil),
		"client cancels inside the notice window":     policy.ClientMayCancel(start, start.Add(-59*time.Minute)),
		"client reschedules inside the notice window": policy.ClientMayReschedule(start, start.Add(-59*time.Minute)),
	}
	seen := 0
	for _, want := range readMachine(t).Errors {
		err, ok := ours[want.When]
		if !ok {
			continue
		}
		seen++
		var problem *hub.Error
		require.ErrorAs(t, err, &problem, want.When)
		require.Equal(t, want.Body.Detail, problem.Detail)
		require.Equal(t, want.Body.Detail, err.Error())
		require.Equal(t, want.Body.Code, problem.Code)
		require.Equal(t, want.Status == http.StatusConflict, errors.Is(err, hub.ErrConflict))
		var transition *TransitionError
		if errors.As(err, &transition) {
			require.Equal(t, want.Body.AppointmentStatus, transition.Status)
			require.Equal(t, want.Body.Allowed, transition.Allowed)
		}
		var closed *WindowClosedError
		if errors.As(err, &closed) {
			require.Equal(t, start.Add(-time.Hour), closed.Deadline)
		}
	}
	require.Equal(t, len(ours), seen)
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	require.Equal(t, []Action{Confirm, Cancel, Complete, MarkNoShow, Reschedule}, AllowedActions(Scheduled, true))
	require.Equal(t, []Action{Cancel, Complete, MarkNoShow, Reschedule}, AllowedActions(Confirmed, false))
	require.Equal(t, []Action{Reopen}, AllowedActions(Completed, true))
	require.Empty(t, AllowedActions(Completed, false))
	require.Empty(t, AllowedActions(Cancelled, true), "nothing leads back from cancelled")
	require.NotNil(t, AllowedActions(Cancelled, true), "a JSON list, not null")
}

func TestInitialStatus(t *testing.T) {
	t.Parallel()
	auto := Policy{AutoConfirm: true}
	for _, source := range []Source{SourceWeb, SourceIntegration, SourceDashboard, SourceAPI} {
		fromOutside := slices.Contains([]Source{SourceWeb, SourceIntegration}, source)
		require.Equal(t, Scheduled, Policy{}.InitialStatus(source, DepositNone))
		require.Equal(t, fromOutside, auto.InitialStatus(source, DepositNone) == Confirmed, source)
		require.Equal(t, Scheduled, auto.InitialStatus(source, DepositPending), "a pending deposit keeps it scheduled")
	}
}

func TestClientNotice(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	policy := DefaultPolicy()
	require.NoError(t, policy.ClientMayCancel(start, start.Add(-time.Second)), "no notice asked for")
	require.ErrorIs(t, policy.ClientMayCancel(start, start), hub.ErrConflict, "it has begun")

	policy.CancelNoticeMinutes, policy.RescheduleNoticeMinutes = 120, 30
	require.NoError(t, policy.ClientMayCancel(start, start.Add(-2*time.Hour)), "the deadline itself is in time")
	require.ErrorIs(t, policy.ClientMayCancel(start, start.Add(-2*time.Hour+time.Second)), hub.ErrConflict)
	require.NoError(t, policy.ClientMayReschedule(start, start.Add(-time.Hour)))
	require.ErrorIs(t, policy.ClientMayReschedule(start, start.Add(-time.Minute)), hub.ErrConflict)

	policy.AllowClientCancel, policy.AllowClientReschedule = false, false
	require.ErrorIs(t, policy.ClientMayCancel(start, start.Add(-48*time.Hour)), hub.ErrForbidden)
	require.ErrorIs(t, policy.ClientMayReschedule(start, start.Add(-48*time.Hour)), hub.ErrForbidden)
}

func TestDeposits(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	policy := DefaultPolicy()
	require.Equal(t, DepositPaid, policy.DepositAfterCancel(DepositPaid, start, start.Add(-24*time.Hour)), "until the refund is made")
	require.Equal(t, DepositForfeited, policy.DepositAfterCancel(DepositPaid, start, start.Add(-24*time.Hour+time.Second)))
	require.Equal(t, DepositNone, policy.DepositAfterCancel(DepositPending, start, start))
	for _, status := range []DepositStatus{DepositNone, DepositRefunded, DepositForfeited} {
		require.Equal(t, status, policy.DepositAfterCancel(status, start, start.Add(-72*time.Hour)))
		require.Equal(t, status, DepositAfterNoShow(status))
	}
	policy.DepositRefundNoticeMinutes = nil
	require.Equal(t, DepositForfeited, policy.DepositAfterCancel(DepositPaid, start, start.Add(-720*time.Hour)))
	require.Equal(t, DepositForfeited, DepositAfterNoShow(DepositPaid))
	require.Equal(t, start.Add(30*time.Minute), policy.DepositDeadline(start, start.Add(time.Hour)))
	require.Equal(t, start.Add(10*time.Minute), policy.DepositDeadline(start, start.Add(10*time.Minute)), "not during the visit")
}
