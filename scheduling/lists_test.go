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
	p := opened(t)
	p.ok(201, "POST", "/schedule-exceptions", object{"professional_id": p.professional, "date": "2026-03-30", "date_to": "2026-04-02", "exception_type": "block"})
	for path, total := range map[string]int{
		"/services": 1, "/professionals": 1, "/schedule-rules": 5, "/schedule-rules?professional_id=" + p.professional: 5,
		"/schedule-exceptions?month=2026-03": 2, "/schedule-exceptions?month=2026-05": 0, "/appointments": 0,
	} {
		got := p.call("GET", path, nil)
		require.Len(t, got.list, total, path)
		require.Equal(t, strconv.Itoa(total), got.header.Get("X-Total-Count"), path)
	}
}

// What a currency has no coins for can be neither asked for nor paid.
func TestMoneyThatTheCurrencyDoesNotHave(t *testing.T) {
	t.Parallel()
	p := opened(t)
	id := p.book(0)
	odd := func(currency string, refuse bool) {
		p.ok(200, "PUT", "/organization", object{"currency": currency})
		for _, one := range []struct {
			method, path, field string
			body                object
		}{
			{"POST", "/services", "body.price", object{"name": "Wash", "duration_minutes": 30, "price": 10.5}},
			{"PUT", "/services/" + p.service, "body.price", object{"price": 10.5}},
			{"PUT", "/services/" + p.service, "body.deposit_amount", object{"price": 80, "requires_deposit": true, "deposit_amount": 10.5}},
			{"PUT", "/professionals/" + p.professional + "/services", "body.overrides." + p.service + ".custom_price",
				object{"service_ids": []string{p.service}, "overrides": object{p.service: object{"custom_price": 10.5}}}},
			{"PUT", "/appointments/" + id, "body.price", object{"price": 10.5}},
			{"POST", "/payments", "body.amount", object{"appointment_id": id, "amount": 10.5, "method": "cash"}},
			{"POST", "/payments/pix", "body.amount", object{"client_id": p.client, "amount": 10.5}},
			{"PUT", "/loyalty/config", "body.min_spend", object{"min_spend": 10.5}},
			{"PUT", "/loyalty/config", "body.rewards[1].value", object{"rewards": []object{
				{"name": "Half", "points": 1, "type": "percent_discount", "value": 12.5}, {"name": "Off", "points": 1, "type": "fixed_discount", "value": 10.5}}}},
		} {
			if refuse {
				p.invalid(one.field, one.method, one.path, one.body)
				continue
			}
			if one.path == "/payments/pix" {
				continue
			}
			got := p.call(one.method, one.path, one.body)
			require.Less(t, got.status, 300, "%s: %s", one.path, got.text)
		}
	}
	odd("JPY", true)
	p.ok(200, "PUT", "/services/"+p.service, object{"price": 1500, "requires_deposit": true, "deposit_amount": 500})
	p.ok(200, "PUT", "/services/"+p.service, object{"requires_deposit": false})
	odd("BRL", false)
	p.refused(409, "currency_unsuitable", "PUT", "/organization", object{"currency": "JPY"})
	p.exec(`update scheduling.organizations set currency = 'JPY' where id = $1`, p.org) // as before that was refused
	p.ok(200, "PUT", "/services/"+p.service, object{"name": "What was priced before can be renamed"})
}

// However much is written at once, it takes as many statements.
func TestManyAreWrittenAtOnce(t *testing.T) {
	t.Parallel()
	p := opened(t)
	var ids []string
	for n := range 30 {
		ids = append(ids, p.ok(201, "POST", "/services", object{"name": fmt.Sprint("S", n), "duration_minutes": 30})["id"].(string))
	}
	eva, gil := p.unscheduled("Eva"), p.unscheduled("Gil")
	queries := func(method, path string, body any) int64 {
		before := p.hub.QueryCount.Load()
		got := p.call(method, path, body)
		require.Less(t, got.status, 300, got.text)
		return p.hub.QueryCount.Load() - before
	}
	exceptions := func(to string) object {
		return object{"professional_id": p.professional, "date": "2027-01-01", "date_to": to, "exception_type": "block", "start_time": "09:00", "end_time": "10:00", "reason": "Fair"}
	}
	require.Equal(t, queries("POST", "/schedule-exceptions", exceptions("2027-01-02")), queries("POST", "/schedule-exceptions", exceptions("2027-12-31")))
	march := p.list("/schedule-exceptions?month=2027-03")
	require.Len(t, march, 31)
	require.Equal(t, "2027-03-31", march[30]["date"])
	require.Equal(t, "09:00", march[30]["start_time"])

	few := queries("PUT", "/services/reorder", object{"service_ids": ids[28:]})
	require.Equal(t, few, queries("PUT", "/services/reorder", object{"service_ids": ids}))
	require.Equal(t, append(ids, p.service), idsOf(p.list("/services")))

	few = queries("PUT", "/professionals/"+eva+"/services", object{"service_ids": ids[:2]})
	require.Equal(t, few, queries("PUT", "/professionals/"+eva+"/services", object{"service_ids": ids, "overrides": object{
		ids[7]: object{"custom_duration": 45}, ids[8]: object{"custom_price": 0},
	}}))
	given := p.list("/professionals/" + eva + "/services")
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

	p.ok(200, "PUT", "/schedule-rules/"+p.list("/schedule-rules?professional_id=" + p.professional)[0]["id"].(string), object{"break_start": "10:00", "break_end": "10:30"})
	few = queries("POST", "/schedule-rules/copy/"+p.professional+"/"+eva, nil)
	for range 3 {
		p.ok(201, "POST", "/schedule-rules/copy/"+eva+"/"+p.professional+"?mode=append", nil)
	}
	require.Equal(t, few, queries("POST", "/schedule-rules/copy/"+p.professional+"/"+gil, nil))
	copied := p.list("/schedule-rules?professional_id=" + gil)
	require.Len(t, copied, 20)
	require.Equal(t, []any{"10:00", "10:30", "09:00", "12:00"}, []any{copied[0]["break_start"], copied[0]["break_end"], copied[0]["start_time"], copied[0]["end_time"]})
}

func idsOf(list []object) (ids []string) {
	for _, one := range list {
		ids = append(ids, one["id"].(string))
	}
	return ids
}

// A booking that is not committed yet holds what it refers to: neither renaming that
// nor renaming another waits for it.
func TestRenamingDoesNotWaitForBookings(t *testing.T) {
	t.Parallel()
	p := opened(t)
	wash := p.ok(201, "POST", "/services", object{"name": "Wash", "duration_minutes": 30})["id"].(string)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	require.NoError(t, pgx.BeginFunc(ctx, p.hub.Host.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `insert into scheduling.appointments (org_id, id, client_id, professional_id, service_id, start_at, end_at, price_cents, status, source)
			values ($1, $2, $3, $4, $5, $6, $7, 0, 'scheduled', 'web')`, p.org, uuid.New(), p.client, p.professional, p.service, monday, monday.Add(time.Hour))
		require.NoError(t, err)
		p.ok(200, "PUT", "/services/"+p.service, object{"name": "Trim"})
		p.ok(200, "PUT", "/services/"+wash, object{"name": "Rinse"})
		require.Equal(t, 200, p.call("PUT", "/services/reorder", object{"service_ids": []string{wash, p.service}}).status)
		p.ok(200, "PUT", "/professionals/"+p.professional, object{"name": "Ann"})
		return nil
	}))
	require.Equal(t, []string{"Rinse", "Trim"}, names(p.list("/services")))
}

// Of the keys of a connection nobody sees more than four characters.
func TestKeysOfConnectionsAreMasked(t *testing.T) {
	t.Parallel()
	p := besideNotes(t)
	id := p.linked()
	got := p.ok(200, "GET", "/integrations/status", nil)["integrations"].([]any)
	require.Len(t, got, 1)
	var local, remote string
	require.NoError(t, p.hub.Host.Pool.QueryRow(t.Context(), `select k.last4, i.remote_last4 from hub.integrations i join hub.keys k on k.integration_id = i.id
		where i.id = $1 and k.revoked_at is null`, id).Scan(&local, &remote))
	require.Len(t, local, 4)
	require.Len(t, remote, 4)
	require.Equal(t, local+"****", got[0].(object)["api_key_local"])
	require.Equal(t, remote+"****", got[0].(object)["api_key_remote"])
}
