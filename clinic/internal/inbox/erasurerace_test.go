package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/clinic/internal/inbox"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
)

// statementHook calls a function before each statement of a pool.
type statementHook struct {
	before func(process uint32)
}

// TraceQueryStart implements pgx.QueryTracer.
func (h *statementHook) TraceQueryStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if h.before != nil {
		h.before(conn.PgConn().PID())
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*statementHook) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// erasureRace is a patient who is erased while something is being done, a relative with the
// same number, and an appointment of each. That of the relative has no id.
type erasureRace struct {
	clinic            *clinictest.Clinic
	host              module.Host // of what is done
	number, stranger  string
	booking           string // the id of the patient's appointment
	patient, relative string
	history           []string // the relative's, before
}

const raceTime = "2027-01-04T12:00:00Z"

// erasureRaces are the races of one hub.
type erasureRaces struct {
	clinic     *clinictest.Clinic
	scheduling *clinictest.Peer
	host       module.Host // its pool has the hook
	hook       *statementHook
	patients   int
}

func newErasureRaces(t *testing.T) *erasureRaces {
	t.Helper()
	s := &erasureRaces{clinic: clinictest.NewClinicAlone(t), hook: &statementHook{}}
	s.scheduling = s.clinic.ConnectPeer("scheduling")
	settings := s.clinic.Hub.Host.Pool.Config()
	settings.ConnConfig.Tracer = s.hook
	pool, err := pgxpool.NewWithConfig(t.Context(), settings)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s.host = s.clinic.Hub.Host
	s.host.Pool = pool
	return s
}

// newRace makes the patients of a race and their appointments.
func (s *erasureRaces) newRace() *erasureRace {
	s.clinic.T.Helper()
	n := s.patients
	s.patients++
	r := &erasureRace{clinic: s.clinic, host: s.host, number: fmt.Sprintf("+5511966%06d", n), stranger: fmt.Sprintf("+5521933%06d", n), booking: fmt.Sprintf("zulmira-%d", n)}
	r.patient = s.clinic.OK(201, "POST", "/patients", object{"name": "Zulmira Quixeramobim", "phone": r.number})["id"].(string)
	r.relative = s.clinic.OK(201, "POST", "/patients", object{"name": "Bia", "phone": r.number})["id"].(string)
	s.scheduling.Send("accepted", "appointment.created", object{"appointment_id": r.booking, "client_phone": r.number, "client_name": "Zulmira Quixeramobim", "service": "Check", "datetime": raceTime})
	s.scheduling.Send("accepted", "appointment.created", object{"client_phone": r.number, "client_name": "Bia", "service": "Check", "datetime": raceTime})
	r.history = s.clinic.History(r.relative)
	require.Len(s.clinic.T, r.history, 1)
	return r
}

// eraseBefore has the patient of a race erased before a statement, counted from 0: until the
// erasure has ended or waits for that statement's transaction. erased gets the response.
func (s *erasureRaces) eraseBefore(t *testing.T, r *erasureRace, statement int, erased chan<- answer) (isReached, isWaiting *bool) {
	isReached, isWaiting = new(bool), new(bool)
	begun := 0
	s.hook.before = func(process uint32) {
		if begun++; begun <= statement || *isReached {
			return
		}
		*isReached = true
		go func() {
			got, _ := s.clinic.Try("POST", "/patients/"+r.patient+"/deletion-request", nil)
			erased <- got
		}()
		require.Eventually(t, func() bool {
			*isWaiting = s.clinic.Hub.Count(`pg_stat_activity where $1::integer = any(pg_blocking_pids(pid))`, int32(process)) > 0
			return *isWaiting || len(erased) > 0
		}, clinictest.Timeout, time.Millisecond)
	}
	return isReached, isWaiting
}

// run does act once for each of its statements, and has the patient erased before that
// statement. Then act goes on. check is called when both have ended. The last patient is erased
// after act.
func (s *erasureRaces) run(t *testing.T, name string, prepare func(*erasureRace), act func(*erasureRace) error, check func(*erasureRace, string)) {
	t.Helper()
	waited := 0
	for statement := 0; ; statement++ {
		r, at := s.newRace(), fmt.Sprintf("%s: erased before statement %d", name, statement)
		prepare(r)
		erased := make(chan answer, 1)
		isReached, isWaiting := s.eraseBefore(t, r, statement, erased)
		err := act(r)
		s.hook.before = nil
		require.NoError(t, err, at)
		if !*isReached {
			s.clinic.RequestDeletion(r.patient)
			require.Greater(t, statement, 5, "its statements were seen")
			require.Positive(t, waited, "erasures waited")
			return
		}
		if *isWaiting {
			waited++
		}
		got := <-erased
		require.Equal(t, 202, got.Status, "%s: %s", at, got.Text)
		require.Equal(t, "anonymized", s.clinic.Get("/patients/" + r.patient)["status"], at)
		require.Equal(t, "active", s.clinic.Get("/patients/" + r.relative)["status"], at)
		check(r, at)
	}
}

// requireOwnAppointmentOnly requires that the relative has the own appointment, as it was.
func (r *erasureRace) requireOwnAppointmentOnly(at string) {
	r.clinic.T.Helper()
	appointments := r.clinic.Items("/patients/" + r.relative + "/appointments")
	require.Len(r.clinic.T, appointments, 1, at)
	require.Equal(r.clinic.T, "scheduled", appointments[0]["status"], at)
	require.Equal(r.clinic.T, 1, r.clinic.QueryInt(`select count(*) from clinic.appointments where clinic_id = $1 and patient_id = $2 and external_id is null`, r.relative), at)
}

// receive receives an event as the hub does.
func (r *erasureRace) receive(product, eventType string, data object) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	event := hub.Event{ID: hub.NewEventID(), TenantID: r.clinic.ID, Environment: hub.Live, Product: product, Type: eventType, Time: time.Now(), Data: raw}
	service := inbox.New(r.host, store.New(r.host))
	return pgx.BeginFunc(r.clinic.T.Context(), r.host.Pool, func(tx pgx.Tx) error {
		screening, err := service.ScreenEvent(r.clinic.T.Context(), tx, event)
		if err != nil || screening == module.IsAboutErased {
			return err
		}
		if err := service.Receive(r.clinic.T.Context(), tx, event); !errors.Is(err, module.ErrIgnored) {
			return err
		}
		return nil
	})
}

// A patient is erased at any moment while an event about the patient, or about the patient's
// appointment, is received: before any of its statements. Nothing of it is stored with the
// relative who has the same number, nor left in the inbox or in any table of the clinic.
func TestEventsWhileTheirPatientIsErased(t *testing.T) {
	t.Parallel()
	races := newErasureRaces(t)
	for name, event := range map[string]struct {
		product, kind string
		data          func(*erasureRace) object
	}{
		"booked again": {"scheduling", "appointment.created", func(r *erasureRace) object {
			return object{"appointment_id": r.booking, "client_phone": r.number, "client_name": "Zulmira Quixeramobim", "service": "Check", "datetime": raceTime}
		}},
		"cancelled": {"scheduling", "appointment.cancelled", func(r *erasureRace) object {
			return object{"appointment_id": r.booking, "client_phone": r.number, "reason": "Zulmira travels", "datetime": raceTime}
		}},
		"missed": {"scheduling", "appointment.noshow", func(r *erasureRace) object {
			return object{"appointment_id": r.booking, "client_phone": r.number}
		}},
		"a message": {"messaging", "message.received", func(r *erasureRace) object {
			return object{"phone": r.number, "name": "Zulmira Quixeramobim", "body": "Zulmira here", "ticket_id": 7}
		}},
	} {
		races.run(t, name, func(*erasureRace) {}, func(r *erasureRace) error {
			return r.receive(event.product, event.kind, event.data(r))
		}, func(r *erasureRace, at string) {
			r.requireOwnAppointmentOnly(at)
			require.Equal(t, r.history, r.clinic.History(r.relative), at)
			require.Empty(t, r.clinic.Items("/integrations/inbox"), at)
		})
	}
	for _, place := range hubtest.FindInDatabase(t, races.clinic.Hub.DatabaseURL, "zulmira") {
		require.False(t, strings.HasPrefix(place, "clinic."), place)
	}
}

// A patient is erased at any moment while a user links what waits about the patient's appointment
// to the relative, or the job goes on with that. The relative's own appointment, at the same time
// of day, stays as it is.
func TestLinkingWhileAnotherPatientIsErased(t *testing.T) {
	t.Parallel()
	races := newErasureRaces(t)
	wait := func(r *erasureRace) {
		AddWaitingEvents(r.clinic, r.stranger, strangerEvent{"appointment.cancelled", "appointment " + r.booking, object{"appointment_id": r.booking, "reason": "Ill", "service": "Check", "datetime": raceTime}})
	}
	check := func(r *erasureRace, at string) {
		r.requireOwnAppointmentOnly(at)
		require.Len(r.clinic.T, r.clinic.History(r.relative), 2, at)
		r.clinic.Exec(`delete from clinic.inbox where clinic_id = $1`)
	}
	var entry, user uuid.UUID
	races.run(t, "by a user", func(r *erasureRace) {
		wait(r)
		waiting := r.clinic.Items("/integrations/inbox")
		require.Len(t, waiting, 1)
		entry = uuid.MustParse(waiting[0]["id"].(string))
		user = uuid.MustParse(r.clinic.Get("/auth/me")["id"].(string))
	}, func(r *erasureRace) error {
		_, err := inbox.New(r.host, store.New(r.host)).Link(t.Context(), store.Scope{Clinic: r.clinic.ID, Env: hub.Live}, entry, uuid.MustParse(r.relative), user)
		return err
	}, check)
	var run []byte
	races.run(t, "by the job", func(r *erasureRace) {
		wait(r)
		id := uuid.New()
		r.clinic.Exec(`insert into clinic.linkings (clinic_id, env, id, patient_id, phone_key, source, after_at, after_id)
			select clinic_id, 'live', $2, $3, phone_key, source, '2000-01-01', gen_random_uuid() from clinic.inbox where clinic_id = $1 and phone = $4`, id, r.relative, r.stranger)
		run = []byte(clinictest.JSON(t, object{"clinic": r.clinic.ID, "env": "live", "id": id}))
	}, func(r *erasureRace) error {
		return inbox.New(r.host, store.New(r.host)).ContinueLinking(t.Context(), run)
	}, check)
}
