package exports_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/clinic/internal/exports"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
)

// addPatients adds patients behind the product's back.
func addPatients(clinic *clinictest.Clinic, count int) {
	clinic.T.Helper()
	clinic.Exec(`insert into clinic.patients (clinic_id, env, id, name) select $1, 'live', gen_random_uuid(), 'Patient ' || n from generate_series(1, $2::int) n`, count)
}

// pending is an export that no run of the job has begun.
type pending struct {
	*clinictest.Clinic
	id string
}

// addPending stores an export of patients without a waiting run of the job.
func addPending(clinic *clinictest.Clinic) pending {
	clinic.T.Helper()
	id := uuid.NewString()
	clinic.Exec(`insert into clinic.exports (clinic_id, env, id, request, complete_to, created_at, expires_at) values ($1, 'live', $2, '', now(), now(), now() + interval '1 day')`, id)
	clinic.Exec(`insert into clinic.export_files (clinic_id, env, export_id, n, type, after_id) values ($1, 'live', $2, 0, 'Patient', '00000000-0000-0000-0000-000000000000')`, id)
	return pending{clinic, id}
}

// run runs the job.
func (p pending) run(ctx context.Context) error {
	return p.Job(exports.ExportJob).Run(ctx, []byte(fmt.Sprintf(`{"clinic":%q,"env":"live","id":%q}`, p.ID, p.id)))
}

func (p pending) written() int {
	p.T.Helper()
	return p.QueryInt(`select coalesce(sum(resources), 0)::int from clinic.export_files where clinic_id = $1 and export_id = $2`, p.id)
}

func (p pending) address() string { return p.Hub.Base + "/fhir/exports/" + p.id }

// requireEachPatientOnce requires that an export has each patient of the clinic once.
func requireEachPatientOnce(clinic *clinictest.Clinic, address string, count int) {
	clinic.T.Helper()
	got := clinic.Call("GET", address+"/Patient", nil)
	require.Equal(clinic.T, 200, got.Status, got.Text)
	ids := map[string]bool{}
	lines := strings.Split(strings.TrimSuffix(got.Text, "\n"), "\n")
	for _, line := range lines {
		var patient struct{ ID string }
		require.NoError(clinic.T, json.Unmarshal([]byte(line), &patient))
		ids[patient.ID] = true
	}
	require.Len(clinic.T, lines, count)
	require.Len(clinic.T, ids, count)
	require.Equal(clinic.T, count, clinic.QueryInt(`select count(*) from clinic.patients where clinic_id = $1`))
}

// A run that is cancelled in the middle leaves the rest to the next one, which repeats and
// loses nothing. The status has the progress meanwhile.
func TestExportContinues(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	const patients = 3000
	addPatients(clinic, patients)
	export := addPending(clinic)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- export.run(ctx) }()
	require.Eventually(t, func() bool { return export.written() > 0 }, clinictest.Timeout, time.Millisecond)
	cancel()
	require.Error(t, <-ended)
	var written int
	var got moduletest.Response
	require.Eventually(t, func() bool { // the last commit may end after the run that was cancelled
		written, got = export.written(), clinic.Call("GET", export.address(), nil)
		return written == export.written()
	}, clinictest.Timeout, 10*time.Millisecond)
	require.Positive(t, written)
	require.Less(t, written, patients, "it was cancelled in the middle")
	require.Equal(t, 202, got.Status, got.Text)
	require.Equal(t, fmt.Sprintf("%d resources so far", written), got.Header.Get("X-Progress"))
	require.NotEmpty(t, got.Header.Get("Retry-After"))
	require.Equal(t, 404, clinic.Call("GET", export.address()+"/Patient", nil).Status, "not before it is done")

	require.NoError(t, export.run(t.Context()))
	clinic.WaitForExport(export.address()) // a slow machine leaves a rest to a further run
	requireEachPatientOnce(clinic, export.address(), patients)
	require.NoError(t, export.run(t.Context()), "a run of a finished export does nothing")
	requireEachPatientOnce(clinic, export.address(), patients)
	require.Equal(t, 200, clinic.Call("GET", export.address(), nil).Status)
}

// Two runs at the same time write each resource once.
func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	const patients = 600
	addPatients(clinic, patients)
	export := addPending(clinic)
	ended := make(chan error, 2)
	for range cap(ended) {
		go func() { ended <- export.run(t.Context()) }()
	}
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	clinic.WaitForExport(export.address())
	requireEachPatientOnce(clinic, export.address(), patients)
}

// An erasure deletes the clinic's exports, finished or not, of that environment alone.
func TestErasureDeletesExports(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	other, sandbox := clinic.AnotherClinic(), clinic.InEnvironment("test")
	patient := clinic.AddPatient(clinictest.Phone)
	kept := map[*clinictest.Clinic]string{other: other.StartExport(""), sandbox: sandbox.StartExport("")}
	done, running := clinic.StartExport(""), addPending(clinic)
	clinic.WaitForExport(done)
	require.Positive(t, clinic.QueryInt(`select count(*) from clinic.export_chunks where clinic_id = $1`))
	clinic.OK(202, "POST", "/patients/"+patient+"/deletion-request", nil)
	for _, address := range []string{done, done + "/Patient", running.address()} {
		require.Equal(t, 404, clinic.Call("GET", address, nil).Status, address)
	}
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.export_chunks where clinic_id = $1 and env = 'live'`))
	require.NoError(t, running.run(t.Context()))
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.export_chunks where clinic_id = $1 and env = 'live'`))
	for who, address := range kept {
		who.WaitForExport(address)
	}
	clinic.WaitForExport(clinic.StartExport("")) // later ones have the erased patient as reads do
}

// No batch is written while a patient is erased, and an erasure waits for a batch under way:
// none keeps a patient that it read before.
func TestErasureExcludesBatches(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	patient := clinic.AddPatient(clinictest.Phone)
	clinicStore, scope := store.New(clinic.Hub.Host), store.Scope{Clinic: clinic.ID, Env: hub.Live}
	waitForLock := func() {
		require.Eventually(t, func() bool {
			return clinic.QueryInt(`select count(*) from pg_locks where $1::uuid is not null and locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`) > 0
		}, clinictest.Timeout, clinictest.Tick)
	}
	export, ended := addPending(clinic), make(chan error, 1)
	require.NoError(t, clinicStore.InTx(t.Context(), "holding the lock of an erasure", func(tx *store.Tx) error {
		if err := tx.LockExports(t.Context(), scope); err != nil {
			return err
		}
		go func() { ended <- export.run(t.Context()) }()
		waitForLock()
		require.Zero(t, export.written())
		return tx.DeleteExports(t.Context(), scope.Clinic, scope.Env)
	}))
	require.NoError(t, <-ended)
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.export_chunks where clinic_id = $1`))

	addPending(clinic)
	erased := make(chan int, 1)
	require.NoError(t, clinicStore.InTx(t.Context(), "holding the lock of a batch", func(tx *store.Tx) error {
		if err := tx.ShareExports(t.Context(), scope); err != nil {
			return err
		}
		go func() {
			got, err := clinic.Try("POST", "/patients/"+patient+"/deletion-request", nil)
			if err != nil {
				got.Status = 0
			}
			erased <- got.Status
		}()
		waitForLock()
		require.Equal(t, "active", clinic.Get("/patients/" + patient)["status"])
		return nil
	}))
	require.Equal(t, 202, <-erased)
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.exports where clinic_id = $1`))
}
