package productapi_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
)

// look asks what is known about a phone number.
func (n *node) look(phone string) answer {
	n.t.Helper()
	return n.ok(200, "GET", "/api/v1/lookup?phone="+url.QueryEscape(phone), "")
}

// The products say what they know under a number, however it is written; and of the
// log what is about it.
func TestLookup(t *testing.T) {
	t.Parallel()
	n := start(t, func(cfg *config.Config) { cfg.ProductPaths = config.Assignments{"notes": "/pads"} })
	owner, other := n.signUpAt(n.url+"/pads"), n.signUp("board")
	l := connectTenants(owner, other, "notes")
	require.Equal(t, 202, l.publish("+5511987654321 Maria CPF 529.982.247-25").status)
	require.Equal(t, 202, l.publish("nobody").status)
	require.Eventually(t, func() bool { return len(l.deliveries("&status=delivered")) == 2 }, soon, tick)
	// An old record of the other product, without the ninth digit.
	require.Equal(t, 202, call(t, "POST", other.base+"/api/v1/publish", `{"author":"","text":"+551187654321 M. Silva"}`, bearer(other.admin)...).status)
	require.Eventually(t, func() bool { return len(l.notes()) == 3 }, soon, tick)

	for _, phone := range []string{"+55 11 98765-4321", "11987654321", "(11) 8765-4321", "551187654321"} {
		got := n.look(phone)
		require.Equal(t, "+5511987654321", got.body["phone"])
		known := map[string]map[string]any{}
		for _, entry := range got.body["matches"].([]any) {
			match := entry.(map[string]any)
			require.Equal(t, "note", match["kind"])
			known[match["product"].(string)+" "+match["tenant_id"].(string)+" "+match["name"].(string)] = match
		}
		require.Len(t, known, 4, got.text) // both products have both notes: what one wrote the other was sent
		match := known["notes "+owner.id+" Maria CPF ***.***.***-25"]
		require.NotNil(t, match, got.text)
		require.Equal(t, n.url+"/pads/notes/"+match["id"].(string), match["url"])
		require.NotNil(t, known["board "+other.id+" M. Silva"], got.text)
		require.NotContains(t, got.text, "529.982")

		counts := map[string]int{}
		for _, entry := range got.body["deliveries"].([]any) {
			item := entry.(map[string]any)
			counts[item["direction"].(string)+" "+item["payload"].(map[string]any)["data"].(map[string]any)["text"].(string)]++
		}
		require.Equal(t, map[string]int{
			"outbound +5511987654321 Maria CPF ***.***.***-25": 1, "inbound +5511987654321 Maria CPF ***.***.***-25": 1,
			"outbound +551187654321 M. Silva": 1, "inbound +551187654321 M. Silva": 1,
		}, counts, phone)
	}
	none := n.look("+1 415 555 2671")
	require.Equal(t, map[string]any{"phone": "+14155552671", "email": "", "cpf": "", "matches": []any{}, "truncated": false, "deliveries": []any{}}, none.body)
}

// People are found by e-mail address and by the end of a CPF too; by the latter they are named
// by first name and initials, and of the log only what has the id of a match is found.
func TestLookupByEmailAndCPF(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	owner, other := n.signUp("notes"), n.signUp("board")
	l := connectTenants(owner, other, "notes")
	require.Equal(t, 202, l.publish("Ana@Example.com Maria Aparecida CPF 529.982.247-25").status)
	require.Equal(t, 202, l.publish("bia@example.com Bia").status)
	require.Eventually(t, func() bool { return len(l.deliveries("&status=delivered")) == 2 }, soon, tick)
	require.Eventually(t, func() bool { return len(l.notes()) == 2 }, soon, tick)
	names := func(got answer) (products []string, name string) {
		for _, entry := range got.body["matches"].([]any) {
			match := entry.(map[string]any)
			products, name = append(products, match["product"].(string)), match["name"].(string)
		}
		slices.Sort(products)
		return products, name
	}
	for _, query := range []string{"?email=ana@example.com", "?email=ANA@example.com"} {
		got := n.ok(200, "GET", "/api/v1/lookup"+query, "")
		require.Equal(t, []any{"ana@example.com", "", ""}, []any{got.body["email"], got.body["phone"], got.body["cpf"]})
		products, name := names(got)
		require.Equal(t, []string{"board", "notes"}, products, got.text)
		require.Equal(t, "Maria Aparecida CPF ***.***.***-25", name)
		require.Equal(t, false, got.body["truncated"])
	}
	for _, query := range []string{`{"cpf":"25"}`, `{"cpf":"***.***.***-25"}`, `{"cpf":"…25"}`} {
		got := n.ok(200, "POST", "/api/v1/lookup", query)
		require.Equal(t, "***.***.***-25", got.body["cpf"])
		products, name := names(got)
		require.Equal(t, []string{"board", "notes"}, products, got.text)
		require.Equal(t, "Maria A. C. *.", name)
		require.NotContains(t, got.text, "529.982")
	}
	require.Empty(t, n.ok(200, "POST", "/api/v1/lookup", `{"cpf":"99"}`).body["matches"])
	for _, bad := range []string{`{}`, `{"cpf":"25","email":"ana@example.com"}`, `{"cpf":"529.982.247-25"}`, `{"cpf":"52998224725"}`, `{"cpf":"5"}`, `{"email":"ana"}`, `{"email":"a b@example.com"}`, `{"phone":""}`} {
		n.ok(422, "POST", "/api/v1/lookup", bad)
	}
	var dump string
	require.NoError(t, n.db.QueryRow(context.Background(), `select string_agg(a::text, ' ') from hub.audit a where action like 'lookup%'`).Scan(&dump))
	require.NotContains(t, strings.ToLower(dump), "ana@example.com")
}

// Lookups are recorded, without the number, and an operator may make 30 in a minute.
func TestLookupIsRecordedAndLimited(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	for _, phone := range []string{"", "?phone=", "?phone=98765-4321", "?phone=maria"} {
		n.ok(422, "GET", "/api/v1/lookup"+phone, "")
	}
	refused(t, 401, "unauthorized", call(t, "GET", n.url+"/api/v1/lookup?phone=11987654321", ""))
	n.ok(200, "GET", "/api/v1/lookup?phone=+5511987654321", "") // the plus unescaped
	posted := n.ok(200, "POST", "/api/v1/lookup", `{"phone":"+55 11 98765-4321"}`)
	require.Equal(t, n.look("+5511987654321").body, posted.body)
	for _, body := range []string{`{}`, `{"phone":""}`, `{"phone":"98765-4321"}`, `{"phone":"maria"}`} {
		n.ok(422, "POST", "/api/v1/lookup", body)
	}
	var actions int
	var dump string
	require.NoError(t, n.db.QueryRow(context.Background(), `
		select count(*) filter (where action in ('lookup.phone', 'lookup.search') and status = 200), string_agg(a::text, ' ') from hub.audit a`).Scan(&actions, &dump))
	require.Equal(t, 3, actions)
	require.NotContains(t, dump, "987654321")
	require.NotContains(t, n.log.String(), "987654321")
	for range 19 {
		n.look("11987654321")
	}
	over := call(t, "GET", n.url+"/api/v1/lookup?phone=11987654321", "", bearer(n.token)...)
	for made := 31; over.status == 200; made++ {
		require.LessOrEqual(t, made, 30+n.uncounted())
		over = call(t, "GET", n.url+"/api/v1/lookup?phone=11987654321", "", bearer(n.token)...)
	}
	refused(t, 429, "rate_limited", over)
	require.NotEmpty(t, over.header.Get("Retry-After"))
}
