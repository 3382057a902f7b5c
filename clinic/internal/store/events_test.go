package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic"
	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// recorder is a publisher that stores events in memory.
type recorder struct {
	module.Publisher
	events []hub.Event
}

func (r *recorder) Publish(_ context.Context, _ pgx.Tx, e hub.Event) (string, error) {
	r.events = append(r.events, e)
	return "evt_0000000000000001", nil
}

func (r *recorder) PublishTo(_ context.Context, _ pgx.Tx, _ module.Audience, events []hub.Event) ([]string, error) {
	r.events = append(r.events, events...)
	return make([]string, len(events)), nil
}

// The bytes of published events are part of the contract with peers.
func TestPublishedBytes(t *testing.T) {
	t.Parallel()
	published := &recorder{}
	host := moduletest.Start(t, clinic.New(), moduletest.Options{}).Host
	host.Events = published
	s, ctx := store.New(host), t.Context()
	scope := store.Scope{Clinic: store.NewID(), Env: hub.Live}
	var patient, visitor uuid.UUID
	require.NoError(t, s.InTx(ctx, "testing", func(tx *store.Tx) error {
		require.NoError(t, tx.InsertClinic(ctx, scope.Clinic, "Clínica Sol", tx.Now()))
		phone, email, cpf := "+5511987654321", "ana@example.com", "52998224725"
		p, err := tx.CreatePatient(ctx, scope, store.PatientData{Name: "Ana Souza", Phone: &phone, Email: &email, CPF: &cpf, Status: store.Active})
		require.NoError(t, err)
		patient = p.ID
		draft := tx.DraftPatient(scope, store.PatientData{Name: "Zoë <&>", Status: store.Active})
		visitor = draft.ID
		require.NoError(t, tx.CreatePatients(ctx, scope, []store.Patient{draft}))
		_, err = tx.ChangePatient(ctx, scope, patient, func(d *store.PatientData) error {
			d.Name, d.Phone = "Ana Lima", nil
			return nil
		})
		require.NoError(t, err)
		for _, sensitivity := range []care.Sensitivity{care.Normal, care.Restricted, care.VeryRestricted} {
			_, err = tx.CreateRecord(ctx, scope, patient, store.RecordData{Date: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), Type: "visit", Summary: "Seen, F32.1", Sensitivity: sensitivity})
			require.NoError(t, err)
		}
		pix, paidAt := "pix", tx.Now()
		_, err = tx.CreatePayment(ctx, scope, patient, store.PaymentData{Amount: 150_50, Description: "Visit", DueDate: paidAt, Status: care.Paid, Method: &pix, PaidAt: &paidAt})
		require.NoError(t, err)
		pending, err := tx.CreatePayment(ctx, scope, patient, store.PaymentData{Amount: 7_00, DueDate: paidAt, Status: care.Pending})
		require.NoError(t, err)
		_, err = tx.Pay(ctx, scope, pending.ID, nil, paidAt)
		require.NoError(t, err)
		_, err = tx.CreatePayment(ctx, scope, patient, store.PaymentData{Amount: 1, DueDate: time.Date(2020, 3, 2, 0, 0, 0, 0, time.UTC), Status: care.Pending})
		return err
	}))
	n, err := s.MarkOverdue(ctx, scope)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	var got []string
	for _, e := range published.events {
		require.Equal(t, hub.Event{TenantID: scope.Clinic, Environment: scope.Env, Type: e.Type, Data: e.Data, OrderingKey: e.OrderingKey}, e)
		require.Contains(t, string(e.Data), `"patient_id":"`+e.OrderingKey+`"`, "ordered by patient")
		line := strings.ReplaceAll(e.Type+" "+string(e.Data), patient.String(), "P1")
		got = append(got, strings.ReplaceAll(line, visitor.String(), "P2"))
	}
	require.Equal(t, []string{
		`patient.created {"patient_id":"P1","phone":"+5511987654321","name":"Ana Souza","email":"ana@example.com","cpf":"***.***.***-25"}`,
		`patient.created {"patient_id":"P2","phone":null,"name":"Zoë \u003c\u0026\u003e","email":null,"cpf":null}`,
		`patient.updated {"patient_id":"P1","changed_fields":["name","phone"],"phone":"+5511987654321"}`,
		`record.created {"patient_id":"P1","record_type":"visit","summary":"Seen, ***"}`,
		`record.created {"patient_id":"P1","record_type":"restricted","summary":"***"}`,
		`payment.received {"patient_id":"P1","amount":150.50,"description":"Visit","method":"pix"}`,
		`payment.received {"patient_id":"P1","amount":7.00,"description":""}`,
		`payment.overdue {"patient_id":"P1","amount":0.01,"due_date":"2020-03-02"}`,
	}, got)
}
