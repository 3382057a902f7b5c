package api_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// BenchmarkPhoneSearch searches among 100,000 patients with appointments and payments,
// over HTTP, and reports the 95th percentile.
func BenchmarkPhoneSearch(b *testing.B) {
	clinic := clinictest.NewClinicAlone(b)
	db, err := pgx.Connect(b.Context(), clinic.Hub.DatabaseURL) // without the product's limit of time
	require.NoError(b, err)
	defer db.Close(b.Context())
	_, err = db.Exec(b.Context(), `set session_replication_role = replica`) // without checking every reference
	require.NoError(b, err)
	for _, sql := range []string{
		`insert into clinic.patients (clinic_id, env, id, name, phone) select $1, 'live', gen_random_uuid(), 'Patient ' || n, '+55119' || 80000000 + n from generate_series(1, 100000) n`,
		`insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, service) select clinic_id, env, gen_random_uuid(), id, now() + (k - 2) * interval '30 days', 'Check'
			from clinic.patients, generate_series(1, 2) k where clinic_id = $1`,
		`insert into clinic.payments (clinic_id, env, id, patient_id, amount, due_date) select clinic_id, env, gen_random_uuid(), id, 50, now() + interval '9 days' from clinic.patients where clinic_id = $1`,
	} {
		_, err := db.Exec(b.Context(), sql, clinic.ID)
		require.NoError(b, err)
	}
	_, err = db.Exec(b.Context(), `analyze clinic.patients, clinic.appointments, clinic.payments`)
	require.NoError(b, err)
	key := clinic.NewKey("patient.search")
	var took []time.Duration
	for b.Loop() {
		phone := fmt.Sprintf("5511%08d", 80000001+rand.IntN(100000)) // without the ninth digit
		began := time.Now()
		got := key.Call("GET", "/integrations/search/patients?phone="+phone, nil)
		took = append(took, time.Since(began))
		require.Equal(b, true, got.Body["found"], got.Text)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}
