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

// raceErasures runs act once for each of its statements, and has the patient erased before that
// statement: until the erasure has ended or waits for act. Then act goes on. check is called when
// both have ended. The last patient is erased after act.
func raceErasures(t *testing.T, prepare func(*erasureRace), act func(*erasureRace) error, check func(*erasureRace, string)) *clinictest.Clinic {
	t.Helper()
	clinic := clinictest.NewClinicAlone(t)
	scheduling := clinic.ConnectPeer("scheduling")
	hook := &statementHook{}
	settings := clinic.Hub.Host.Pool.Config()
	settings.ConnConfig.Tracer = hook
	pool, err := pgxpool.NewWithConfig(t.Context(), settings)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, pool.Ping(t.Context()))
	waited := 0
	for statement := 0; ; statement++ {
		r := &erasureRace{clinic: clinic, host: clinic.Hub.Host, number: fmt.Sprintf("+5511966%06d", statement), stranger: fmt.Sprintf("+5521933%06d", statement), booking: fmt.Sprintf("zulmira-%d", statement)}
		r.host.Pool = pool
		r.patient = clinic.OK(201, "POST", "/patients", object{"name": "Zulmira Quixeramobim", "phone": r.number})["id"].(string)
		r.relative = clinic.OK(201, "POST", "/patients", object{"name": "Bia", "phone": r.number})["id"].(string)
		scheduling.Send("accepted", "appointment.created", object{"appointment_id": r.booking, "client_phone": r.number, "client_name": "Zulmira Quixeramobim", "service": "Check", "datetime": raceTime})
		scheduling.Send("accepted", "appointment.created", object{"client_phone": r.number, "client_name": "Bia", "service": "Check", "datetime": raceTime})
		r.history = clinic.History(r.relative)
		require.Len(t, r.history, 1)
		prepare(r)
		erased, reached := make(chan answer, 1), false
		began := 0
		hook.before = func(process uint32) {
			if began++; began <= statement || reached {
				return
			}
			reached = true
			go func() {
				got, _ := clinic.Try("POST", "/patients/"+r.patient+"/deletion-request", nil)
				erased <- got
			}()
			require.Eventually(t, func() bool {
				isWaiting := clinic.Hub.Count(`pg_stat_activity where $1::integer = any(pg_blocking_pids(pid))`, int32(process)) > 0
				if isWaiting {
					waited++
				}
				return isWaiting || len(erased) > 0
			}, clinictest.Timeout, time.Millisecond)
		}
		err := act(r)
		hook.before = nil
		at := fmt.Sprintf("erased before statement %d", statement)
		require.NoError(t, err, at)
		if !reached {
			require.Greater(t, statement, 5, "statements were seen")
			require.Positive(t, waited)
			clinic.RequestDeletion(r.patient)
			return clinic
		}
		got := <-erased
		require.Equal(t, 202, got.Status, got.Text)
		require.Equal(t, "anonymized", clinic.Get("/patients/" + r.patient)["status"], at)
		require.Equal(t, "active", clinic.Get("/patients/" + r.relative)["status"], at)
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clinic := raceErasures(t, func(*erasureRace) {}, func(r *erasureRace) error {
				return r.receive(event.product, event.kind, event.data(r))
			}, func(r *erasureRace, at string) {
				r.requireOwnAppointmentOnly(at)
				require.Equal(t, r.history, r.clinic.History(r.relative), at)
				require.Empty(t, r.clinic.Items("/integrations/inbox"), at)
			})
			for _, place := range hubtest.FindInDatabase(t, clinic.Hub.DatabaseURL, "zulmira") {
				require.False(t, strings.HasPrefix(place, "clinic."), place)
			}
		})
	}
}

// A patient is erased at any moment while a user links what waits about the patient's appointment
// to the relative, or the job goes on with that. The relative's own appointment, at the same time
// of day, stays as it is.
func TestLinkingWhileAnotherPatientIsErased(t *testing.T) {
	t.Parallel()
	wait := func(r *erasureRace) {
		AddWaitingEvents(r.clinic, r.stranger, strangerEvent{"appointment.cancelled", "appointment " + r.booking, object{"appointment_id": r.booking, "reason": "Ill", "service": "Check", "datetime": raceTime}})
	}
	check := func(r *erasureRace, at string) {
		r.requireOwnAppointmentOnly(at)
		require.Len(r.clinic.T, r.clinic.History(r.relative), 2, at)
		r.clinic.Exec(`delete from clinic.inbox where clinic_id = $1`)
	}
	t.Run("by a user", func(t *testing.T) {
		t.Parallel()
		var entry, user uuid.UUID
		raceErasures(t, func(r *erasureRace) {
			wait(r)
			entry = uuid.MustParse(r.clinic.Items("/integrations/inbox")[0]["id"].(string))
			user = uuid.MustParse(r.clinic.Get("/auth/me")["id"].(string))
		}, func(r *erasureRace) error {
			_, err := inbox.New(r.host, store.New(r.host)).Link(t.Context(), store.Scope{Clinic: r.clinic.ID, Env: hub.Live}, entry, uuid.MustParse(r.relative), user)
			return err
		}, check)
	})
	t.Run("by the job", func(t *testing.T) {
		t.Parallel()
		var run []byte
		raceErasures(t, func(r *erasureRace) {
			wait(r)
			id := uuid.New()
			r.clinic.Exec(`insert into clinic.linkings (clinic_id, env, id, patient_id, phone_key, source, after_at, after_id)
				select clinic_id, 'live', $2, $3, phone_key, source, '2000-01-01', gen_random_uuid() from clinic.inbox where clinic_id = $1`, id, r.relative)
			run = []byte(clinictest.JSON(t, object{"clinic": r.clinic.ID, "env": "live", "id": id}))
		}, func(r *erasureRace) error {
			return inbox.New(r.host, store.New(r.host)).ContinueLinking(t.Context(), run)
		}, check)
	})
}
