package scheduling_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestListsTellTheirTotal(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	p.OK(201, "POST", "/schedule-exceptions", object{"professional_id": p.ProfessionalID, "date": "2026-03-30", "date_to": "2026-04-02", "exception_type": "block"})
	for path, total := range map[string]int{
		"/services": 1, "/professionals": 1, "/schedule-rules": 5, "/schedule-rules?professional_id=" + p.ProfessionalID: 5,
		"/schedule-exceptions?month=2026-03": 2, "/schedule-exceptions?month=2026-05": 0, "/appointments": 0,
	} {
		got := p.Call("GET", path, nil)
		require.Len(t, got.List, total, path)
		require.Equal(t, strconv.Itoa(total), got.Header.Get("X-Total-Count"), path)
	}
}

// What a currency has no coins for can be neither asked for nor paid.
func TestMoneyThatTheCurrencyDoesNotHave(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	id := p.Book(0)
	odd := func(currency string, refuse bool) {
		p.OK(200, "PUT", "/organization", object{"currency": currency})
		for _, one := range []struct {
			method, path, field string
			body                object
		}{
			{"POST", "/services", "body.price", object{"name": "Wash", "duration_minutes": 30, "price": 10.5}},
			{"PUT", "/services/" + p.ServiceID, "body.price", object{"price": 10.5}},
			{"PUT", "/services/" + p.ServiceID, "body.deposit_amount", object{"price": 80, "requires_deposit": true, "deposit_amount": 10.5}},
			{"PUT", "/professionals/" + p.ProfessionalID + "/services", "body.overrides." + p.ServiceID + ".custom_price",
				object{"service_ids": []string{p.ServiceID}, "overrides": object{p.ServiceID: object{"custom_price": 10.5}}}},
			{"PUT", "/appointments/" + id, "body.price", object{"price": 10.5}},
			{"POST", "/payments", "body.amount", object{"appointment_id": id, "amount": 10.5, "method": "cash"}},
			{"POST", "/payments/pix", "body.amount", object{"client_id": p.ClientID, "amount": 10.5}},
			{"PUT", "/loyalty/config", "body.min_spend", object{"min_spend": 10.5}},
			{"PUT", "/loyalty/config", "body.rewards[1].value", object{"rewards": []object{
				{"name": "Half", "points": 1, "type": "percent_discount", "value": 12.5}, {"name": "Off", "points": 1, "type": "fixed_discount", "value": 10.5}}}},
		} {
			if refuse {
				p.Invalid(one.field, one.method, one.path, one.body)
				continue
			}
			if one.path == "/payments/pix" {
				continue
			}
			got := p.Call(one.method, one.path, one.body)
			require.Less(t, got.Status, 300, "%s: %s", one.path, got.Text)
		}
	}
	odd("JPY", true)
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"price": 1500, "requires_deposit": true, "deposit_amount": 500})
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"requires_deposit": false})
	odd("BRL", false)
	p.Refused(409, "currency_unsuitable", "PUT", "/organization", object{"currency": "JPY"})
	p.Exec(`update scheduling.organizations set currency = 'JPY' where id = $1`, p.ID) // as before that was refused
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"name": "What was priced before can be renamed"})
}

// However much is written at once, it takes as many statements.
func TestManyAreWrittenAtOnce(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	var ids []string
	for n := range 30 {
		ids = append(ids, p.OK(201, "POST", "/services", object{"name": fmt.Sprint("S", n), "duration_minutes": 30})["id"].(string))
	}
	eva, gil := p.AddUnscheduledProfessional("Eva"), p.AddUnscheduledProfessional("Gil")
	queries := func(method, path string, body any) int64 {
		before := p.Hub.Queries.Load()
		got := p.Call(method, path, body)
		require.Less(t, got.Status, 300, got.Text)
		return p.Hub.Queries.Load() - before
	}
	exceptions := func(to string) object {
		return object{"professional_id": p.ProfessionalID, "date": "2027-01-01", "date_to": to, "exception_type": "block", "start_time": "09:00", "end_time": "10:00", "reason": "Fair"}
	}
	require.Equal(t, queries("POST", "/schedule-exceptions", exceptions("2027-01-02")), queries("POST", "/schedule-exceptions", exceptions("2027-12-31")))
	march := p.List("/schedule-exceptions?month=2027-03")
	require.Len(t, march, 31)
	require.Equal(t, "2027-03-31", march[30]["date"])
	require.Equal(t, "09:00", march[30]["start_time"])

	few := queries("PUT", "/services/reorder", object{"service_ids": ids[28:]})
	require.Equal(t, few, queries("PUT", "/services/reorder", object{"service_ids": ids}))
	require.Equal(t, append(ids, p.ServiceID), IDsOf(p.List("/services")))

	few = queries("PUT", "/professionals/"+eva+"/services", object{"service_ids": ids[:2]})
	require.Equal(t, few, queries("PUT", "/professionals/"+eva+"/services", object{"service_ids": ids, "overrides": object{
		ids[7]: object{"custom_duration": 45}, ids[8]: object{"custom_price": 0},
	}}))
	given := p.List("/professionals/" + eva + "/services")
	require.Len(t, given, 30)
	for _, one := range given {
		duration, price := any(nil), any(nil)
		switch one["service_id"] {
		case ids[7]:
			duration = 45.0
		case ids[8]:
			price = 0.0
		}
		require.Equal(t, []any{duration, price}, []any{one["custom_duration"], one["custom_price"]})
	}

	p.OK(200, "PUT", "/schedule-rules/"+p.List("/schedule-rules?professional_id=" + p.ProfessionalID)[0]["id"].(string), object{"break_start": "10:00", "break_end": "10:30"})
	few = queries("POST", "/schedule-rules/copy/"+p.ProfessionalID+"/"+eva, nil)
	for range 3 {
		p.OK(201, "POST", "/schedule-rules/copy/"+eva+"/"+p.ProfessionalID+"?mode=append", nil)
	}
	require.Equal(t, few, queries("POST", "/schedule-rules/copy/"+p.ProfessionalID+"/"+gil, nil))
	copied := p.List("/schedule-rules?professional_id=" + gil)
	require.Len(t, copied, 20)
	require.Equal(t, []any{"10:00", "10:30", "09:00", "12:00"}, []any{copied[0]["break_start"], copied[0]["break_end"], copied[0]["start_time"], copied[0]["end_time"]})
}

func IDsOf(list []object) (ids []string) {
	for _, one := range list {
		ids = append(ids, one["id"].(string))
	}
	return ids
}

// A booking that is not committed yet holds what it refers to: neither renaming that
// nor renaming another waits for it.
func TestRenamingDoesNotWaitForBookings(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	wash := p.OK(201, "POST", "/services", object{"name": "Wash", "duration_minutes": 30})["id"].(string)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	require.NoError(t, pgx.BeginFunc(ctx, p.Hub.Host.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `insert into scheduling.appointments (org_id, id, client_id, professional_id, service_id, start_at, end_at, price_cents, status, source)
			values ($1, $2, $3, $4, $5, $6, $7, 0, 'scheduled', 'web')`, p.ID, uuid.New(), p.ClientID, p.ProfessionalID, p.ServiceID, Monday, Monday.Add(time.Hour))
		require.NoError(t, err)
		p.OK(200, "PUT", "/services/"+p.ServiceID, object{"name": "Trim"})
		p.OK(200, "PUT", "/services/"+wash, object{"name": "Rinse"})
		require.Equal(t, 200, p.Call("PUT", "/services/reorder", object{"service_ids": []string{wash, p.ServiceID}}).Status)
		p.OK(200, "PUT", "/professionals/"+p.ProfessionalID, object{"name": "Ann"})
		return nil
	}))
	require.Equal(t, []string{"Rinse", "Trim"}, NamesOf(p.List("/services")))
}

// Of the keys of a connection nobody sees more than four characters.
func TestKeysOfConnectionsAreMasked(t *testing.T) {
	t.Parallel()
	p := NewBookableBesidePeer(t)
	id := p.LinkPeer()
	got := p.OK(200, "GET", "/integrations/status", nil)["integrations"].([]any)
	require.Len(t, got, 1)
	var local, remote string
	require.NoError(t, p.Hub.Host.Pool.QueryRow(t.Context(), `select k.last4, i.remote_last4 from hub.integrations i join hub.keys k on k.integration_id = i.id
		where i.id = $1 and k.revoked_at is null`, id).Scan(&local, &remote))
	require.Len(t, local, 4)
	require.Len(t, remote, 4)
	require.Equal(t, local+"****", got[0].(object)["api_key_local"])
	require.Equal(t, remote+"****", got[0].(object)["api_key_remote"])
}
