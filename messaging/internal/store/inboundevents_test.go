package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/messagingtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// handle passes the product an event of a connected clinic and returns what came of it.
func handle(company *messagingtest.Company, data any, environment hub.Environment) (outcome error) {
	company.T.Helper()
	raw, err := json.Marshal(data)
	require.NoError(company.T, err)
	require.NoError(company.T, pgx.BeginFunc(company.T.Context(), company.Hub.Host.Pool, func(tx pgx.Tx) error {
		event := hub.Event{
			ID: hub.NewEventID(), TenantID: company.Tenant, Environment: environment, Product: "clinic", Type: events.TypePatientDeleted, Time: time.Now(), Data: raw,
		}
		outcome = company.Hub.Instance.Handle(company.T.Context(), tx, event)
		return nil
	}))
	return outcome
}

// names returns the names of a company's contacts.
func names(company *messagingtest.Company) []string {
	list := []string{}
	for _, contact := range company.Get("/contacts")["contacts"].([]any) {
		list = append(list, contact.(map[string]any)["name"].(string))
	}
	return list
}

func TestDeletedPatientIsAnonymized(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	text := func(s string) *string { return &s }
	for name, tc := range map[string]struct {
		patient events.PatientDeleted
		erased  bool
	}{
		"its number":                            {events.PatientDeleted{Name: "Another Name", Phone: text("+5511987654321")}, true},
		"its number without the ninth digit":    {events.PatientDeleted{Phone: text("+551187654321")}, true},
		"an earlier number":                     {events.PatientDeleted{Phone: text("+5511900001111"), Phones: []string{"+5511987654321"}}, true},
		"a shared number and a like name":       {events.PatientDeleted{Name: "ANA  sousa", Phone: text("+5511987654321"), PhoneShared: true}, false},
		"a shared number and the same name":     {events.PatientDeleted{Name: "ana souza", Phone: text("+5511987654321"), PhoneShared: true}, true},
		"a shared number and another name":      {events.PatientDeleted{Name: "Bia Lima", Phone: text("+5511987654321"), PhoneShared: true}, false},
		"a shared number and an earlier name":   {events.PatientDeleted{Name: "Ana Lima", Names: []string{"Ana Reis", "ANA SOUZA"}, Phone: text("+5511987654321"), PhoneShared: true, Phones: []string{"+5511900002222"}}, false},
		"the address and an earlier name":       {events.PatientDeleted{Name: "Ana Lima", Names: []string{"Ana Souza"}, Email: text("ana@example.com"), Phones: []string{"+5511900002222"}}, false},
		"the address and the name":              {events.PatientDeleted{Name: "Ana Souza", Email: text("ANA@example.com")}, true},
		"the address alone":                     {events.PatientDeleted{Name: "Bia Lima", Email: text("ana@example.com")}, false},
		"another number":                        {events.PatientDeleted{Name: "Ana Souza", Phone: text("+5511987654322")}, false},
		"nothing to know the patient by":        {events.PatientDeleted{Name: "Ana Souza"}, false},
		"a number that is none, and an address": {events.PatientDeleted{Name: "Ana Souza", Phone: text("abc"), Email: text("")}, false},
	} {
		own := company.AnotherCompany()
		own.OK(201, "POST", "/contacts", map[string]any{"name": "Ana Souza", "number": "5511987654321", "email": "ana@example.com"})
		own.OK(201, "POST", "/contacts", map[string]any{"name": "Caio", "number": "5511912345678"})
		require.ErrorIs(t, handle(own, tc.patient, hub.Test), module.ErrIgnored, "a company has live data only")
		outcome := handle(own, tc.patient, hub.Live)
		if tc.erased {
			require.NoError(t, outcome, name)
			require.ElementsMatch(t, []string{"Anonymized", "Caio"}, names(own), name)
		} else {
			require.ErrorIs(t, outcome, module.ErrIgnored, name)
			require.ElementsMatch(t, []string{"Ana Souza", "Caio"}, names(own), name)
		}
	}
	require.ErrorIs(t, handle(company, map[string]any{"phone": 5}, hub.Live), hub.ErrMalformed)
}

// After a deletion nothing of the person is left in any table, however it came there.
func TestDeletedPatientLeavesNothing(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	line, phone := company.Connect(), company.AddPhone("Zoraide Quintela")
	company.SendFromPhone(phone, line, "I am Zoraide Quintela")
	ticket := messagingtest.TicketPath(company.Tickets("")[0])
	company.OK(200, "PUT", ticket, map[string]any{"status": "open", "resolution": "Zoraide Quintela was helped"})
	company.OK(201, "POST", ticket+"/messages", map[string]any{"body": "Zoraide Quintela is nice", "isPrivate": true})
	company.OK(201, "POST", ticket+"/messages", map[string]any{"body": "Good morning, Zoraide Quintela"})
	receiver := messagingtest.NewReceiver(t)
	company.OK(201, "POST", "/webhooks", map[string]any{"url": receiver.URL, "events": []string{"ticket.updated"}})
	require.NoError(t, handle(company, map[string]any{"patient_id": "p", "name": "Zoraide Quintela", "phone": "+" + phone}, hub.Live))
	closed := receiver.Next() // the event of the erasure itself
	require.Equal(t, "closed", closed.Data["ticket"].(map[string]any)["status"])
	require.NotContains(t, string(closed.Raw), "Quintela")
	require.NotContains(t, string(closed.Raw), phone)
	company.Hub.Exec(`delete from messaging.sandbox_messages`) // the phone itself, which is no part of the product
	company.Hub.Exec(`delete from messaging.sandbox_phones`)
	rows, err := company.Hub.Host.Pool.Query(t.Context(), `select table_name from information_schema.tables where table_schema = 'messaging' and table_type = 'BASE TABLE'`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(tables), 20)
	for _, table := range tables {
		var left int
		require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), fmt.Sprintf(`select count(*) from messaging.%s t where t::text ilike '%%quintela%%' or t::text like '%%%s%%'`, table, phone)).Scan(&left))
		require.Zero(t, left, table)
	}
}
