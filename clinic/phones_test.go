package clinic_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/module/brazil"
)

// The database makes the key of a phone by the rule that searches use.
func TestPhoneKeyOfTheDatabase(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	key := p.key("patient.search")
	there := make(map[string]string)
	for _, one := range hubtest.Phones {
		if there[one.E164] == "" {
			there[one.E164] = p.patient(one.Written)
		}
		forms := []string{one.Written, one.E164, one.E164[1:]}
		if one.WithoutNinthDigit != "" {
			forms = append(forms, one.WithoutNinthDigit, one.WithoutNinthDigit[1:])
		}
		for _, form := range forms {
			got := key.get("/integrations/search/patients?phone=" + url.QueryEscape(form))
			if form == one.E164[1:] && one.E164[:3] != "+55" && len(form) < 12 {
				continue // without its plus it is a Brazilian number
			}
			require.Equal(t, true, got["found"], form)
			require.Equal(t, there[one.E164], got["patient"].(object)["id"], form)
			require.Equal(t, one.E164, got["patient"].(object)["phone"])
		}
		var made string
		require.NoError(t, p.hub.Host.Pool.QueryRow(t.Context(), `select phone_key from clinic.patients where id = $1`, there[one.E164]).Scan(&made))
		require.Equal(t, brazil.PhoneKey(one.E164), made)
		require.NoError(t, p.hub.Host.Pool.QueryRow(t.Context(), `select pg_get_expr(adbin, adrelid) from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
			where d.adrelid = 'clinic.inbox'::regclass and a.attname = 'phone_key'`).Scan(&made))
		require.NoError(t, p.hub.Host.Pool.QueryRow(t.Context(), `select `+made+` from (values ($1::text)) number (phone)`, one.E164).Scan(&made))
		require.Equal(t, brazil.PhoneKey(one.E164), made, "of who is not known yet")
	}
	for _, none := range hubtest.InvalidPhones {
		if strings.Trim(none, " ") != "" && !strings.Contains(none, "\x00") { // nothing is no number, and NUL no text
			p.invalid("body.phone", "POST", "/patients", object{"name": "X", "phone": none})
		}
	}
	require.Equal(t, false, key.get("/integrations/search/patients?phone=1122223333")["found"], "a landline that looks like a mobile's end")
	require.Equal(t, true, key.get("/integrations/search/patients?phone=+12125551234")["found"], "a plus that nobody escaped")

	// One number, a family: the very number first, then who was there first; who was put away last.
	exact, short := p.patient("+5531987650000"), p.patient("+553187650000")
	second := p.patient("+5531987650000")
	find := func(phone string) any {
		return key.get("/integrations/search/patients?phone=" + phone)["patient"].(object)["id"]
	}
	require.Equal(t, exact, find("5531987650000"))
	require.Equal(t, short, find("553187650000"))
	p.ok(200, "PUT", "/patients/"+exact, object{"status": "inactive"})
	require.Equal(t, second, find("5531987650000"))
}
