package api_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// An alert is made, shown, changed, tested and deleted; the secret of a webhook is in the answer
// that makes it and in that of a rotation. Each change is in the audit log. Support reads.
func TestAlerts(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	made := b.ok(201, "POST", "/alerts", b.admin, `{"kind":"webhook","target":"https://example.com/alerts","events":["hub.*"],"tenant_id":"`+b.tenant[0].String()+`"}`)
	id, secret := made["id"].(string), made["secret"].(string)
	require.True(t, strings.HasPrefix(secret, "whsec_"))
	require.Equal(t, []any{"webhook", "https://example.com/alerts", []any{"hub.*"}, nil, b.tenant[0].String(), true, nil},
		[]any{made["kind"], made["target"], made["events"], made["product"], made["tenant_id"], made["enabled"], made["disabled_reason"]})
	mail := b.ok(201, "POST", "/alerts", b.admin, `{"kind":"email","target":"ops@example.com","events":["hub.endpoint.failing","hub.key.*"],"product":"shop"}`)
	require.Nil(t, mail["secret"])

	shown := b.ok(200, "GET", "/alerts/"+id, b.support, "")
	require.NotContains(t, shown, "secret")
	require.Len(t, items(b.ok(200, "GET", "/alerts", b.support, "")), 2)
	b.refused(403, "admin_only", "POST", "/alerts", b.support, `{"kind":"email","target":"ops@example.com","events":["hub.*"]}`)
	b.refused(404, "not_found", "GET", "/endpoints/"+id, b.admin, "")
	require.Empty(t, items(b.ok(200, "GET", "/endpoints", b.admin, "")), "its endpoint is no tenant's")
	b.refused(404, "not_found", "DELETE", "/endpoints/"+id, b.admin, "")
	b.refused(404, "not_found", "POST", "/endpoints/"+id+"/rotate-secret", b.admin, "")

	changed := b.ok(200, "PUT", "/alerts/"+id, b.admin, `{"target":"https://example.com/new","events":["hub.integration.*"],"enabled":false}`)
	require.Equal(t, []any{"https://example.com/new", nil, false}, []any{changed["target"], changed["tenant_id"], changed["enabled"]})
	b.refused(409, "alert_disabled", "POST", "/alerts/"+id+"/test", b.admin, "")
	b.ok(200, "PUT", "/alerts/"+id, b.admin, `{"target":"https://example.com/new","events":["hub.integration.*"]}`)

	_, err := b.db.Exec(t.Context(), `update hub.endpoints set enabled = false, disabled_reason = 'gone' where id = $1`, id)
	require.NoError(t, err)
	off := b.ok(200, "GET", "/alerts/"+id, b.admin, "")
	require.Equal(t, []any{false, "gone"}, []any{off["enabled"], off["disabled_reason"]}, "its webhook responded 410")
	require.Contains(t, items(b.ok(200, "GET", "/alerts", b.support, "")), off)
	b.refused(409, "alert_disabled", "POST", "/alerts/"+id+"/test", b.admin, "")
	kept := b.ok(200, "PUT", "/alerts/"+id, b.admin, `{"target":"https://example.com/new","events":["hub.integration.*"],"enabled":false}`)
	require.Equal(t, []any{false, "gone"}, []any{kept["enabled"], kept["disabled_reason"]})
	// What it was made with can be sent again; what stays must be the same.
	require.Equal(t, kept, b.ok(200, "PUT", "/alerts/"+id, b.admin, `{"kind":"webhook","target":"https://example.com/new","events":["hub.integration.*"],"enabled":false}`))
	other := b.refused(422, "validation_failed", "PUT", "/alerts/"+id, b.admin, `{"kind":"email","target":"ops@example.com","events":["hub.*"]}`)
	require.Contains(t, other.text, "cannot be changed: send webhook, or leave it out")
	on := b.ok(200, "PUT", "/alerts/"+id, b.admin, `{"target":"https://example.com/new","events":["hub.integration.*"],"enabled":true}`)
	require.Equal(t, []any{true, nil}, []any{on["enabled"], on["disabled_reason"]})

	require.Equal(t, "evt_0123456789abcdef", b.ok(202, "POST", "/alerts/"+id+"/test", b.admin, "")["event_id"])
	require.Equal(t, []string{uuid.Nil.String() + " live " + id + " hub.ping {}"}, b.sent.list)
	require.Nil(t, b.ok(202, "POST", "/alerts/"+mail["id"].(string)+"/test", b.admin, "")["event_id"])
	sent := items(b.ok(200, "GET", "/dev/mail?to=ops@example.com", b.admin, ""))
	require.Len(t, sent, 1)
	require.Contains(t, sent[0]["text"], "hub.endpoint.failing, hub.key.*")

	rotated := b.ok(200, "POST", "/alerts/"+id+"/rotate-secret", b.admin, `{"overlap_seconds":0}`)["secret"]
	require.NotEqual(t, secret, rotated)
	b.refused(409, "alert_has_no_secret", "POST", "/alerts/"+mail["id"].(string)+"/rotate-secret", b.admin, "")
	require.NotContains(t, b.log.String(), secret)

	b.ok(204, "DELETE", "/alerts/"+id, b.admin, "")
	b.refused(404, "not_found", "GET", "/alerts/"+id, b.admin, "")
	b.refused(404, "not_found", "DELETE", "/alerts/"+id, b.admin, "")
	var deleted bool
	require.NoError(t, b.db.QueryRow(t.Context(), `select deleted_at is not null from hub.endpoints where id = $1`, id).Scan(&deleted))
	require.True(t, deleted, "what waits for it fails")
	for action, times := range map[string]int{"alerts.create": 2, "alerts.update": 3, "alerts.test": 2, "alerts.rotate-secret": 1, "alerts.delete": 1} {
		var n int
		require.NoError(t, b.db.QueryRow(t.Context(), `select count(*) from hub.audit where action = $1 and status < 300 and actor_label = 'admin@example.com'`, action).Scan(&n))
		require.Equal(t, times, n, action)
	}
}

// What no alert can be is refused, and makes none.
func TestAlertsRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	for body, location := range map[string]string{
		`{"kind":"sms","target":"ops@example.com","events":["hub.*"]}`:                                                               "body.kind",
		`{"kind":"email","target":"ops","events":["hub.*"]}`:                                                                         "body.target",
		`{"kind":"email","target":"ops@example.com\r\nBcc: all@example.com","events":["hub.*"]}`:                                     "body.target",
		`{"kind":"email","target":"ops@example.com","events":[]}`:                                                                    "body.events",
		`{"kind":"email","target":"ops@example.com","events":["*"]}`:                                                                 "body.events[0]",
		`{"kind":"email","target":"ops@example.com","events":["hub.*","order.created"]}`:                                             "body.events[1]",
		`{"kind":"email","target":"ops@example.com","events":["hub.ping"]}`:                                                          "body.events[0]",
		`{"kind":"email","target":"ops@example.com","events":["hub.*"],"product":"nothing"}`:                                         "body.product",
		`{"kind":"email","target":"ops@example.com","events":["hub.*"],"tenant_id":"` + uuid.NewString() + `"}`:                      "body.tenant_id",
		`{"kind":"email","target":"ops@example.com","events":["hub.*"],"product":"shop","tenant_id":"` + b.tenant[0].String() + `"}`: "body.product",
	} {
		got := b.call("POST", "/alerts", b.admin, body)
		require.Equal(t, 422, got.status, "%s: %s", body, got.text)
		require.Contains(t, got.text, `"location":"`+location+`"`, body)
	}
	b.refused(422, "url_not_allowed", "POST", "/alerts", b.admin, `{"kind":"webhook","target":"http://10.0.0.1/","events":["hub.*"]}`)
	require.Empty(t, items(b.ok(200, "GET", "/alerts", b.admin, "")))
	made := b.ok(201, "POST", "/alerts", b.admin, `{"kind":"email","target":"ops@example.com","events":["hub.*"]}`)
	b.refused(422, "validation_failed", "PUT", "/alerts/"+made["id"].(string), b.admin, `{"target":"https://example.com/","events":["hub.*"]}`)
	_, err := b.db.Exec(t.Context(), `insert into hub.alerts (id, kind, target, events) select gen_random_uuid(), 'email', 'a@example.com', '{hub.*}' from generate_series(1, 99)`)
	require.NoError(t, err)
	b.refused(422, "alert_limit", "POST", "/alerts", b.admin, `{"kind":"email","target":"ops@example.com","events":["hub.*"]}`)
}

// An alert about a product ends with the product, and so does its endpoint; that of another
// product stays.
func TestAlertsOfADeletedProduct(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.ok(201, "POST", "/products", b.admin, `{"name":"crm","prefix":"crm"}`)
	alert := func(product string) string {
		return b.ok(201, "POST", "/alerts", b.admin, `{"kind":"webhook","target":"https://example.com/alerts","events":["hub.*"],"product":"`+product+`"}`)["id"].(string)
	}
	ended, other := alert("crm"), alert("shop")
	b.ok(200, "DELETE", "/products/crm", b.admin, "")
	b.refused(404, "not_found", "GET", "/alerts/"+ended, b.admin, "")
	b.ok(200, "GET", "/alerts/"+other, b.admin, "")
	var left []string
	require.NoError(t, b.db.QueryRow(t.Context(), `select array_agg(id) from hub.endpoints where deleted_at is null`).Scan(&left))
	require.Equal(t, []string{other}, left)
}
