package store_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module/brazil"
)

// The database computes phone keys by the rule of [care.PhoneKey].
func TestPhoneKeyOfTheDatabase(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	key := clinic.NewKey("patient.search")
	there := make(map[string]string)
	for _, phone := range hubtest.Phones {
		if there[phone.E164] == "" {
			there[phone.E164] = clinic.AddPatient(phone.Written)
		}
		forms := []string{phone.Written, phone.E164, phone.E164[1:]}
		if phone.WithoutNinthDigit != "" {
			forms = append(forms, phone.WithoutNinthDigit, phone.WithoutNinthDigit[1:])
		}
		for _, form := range forms {
			got := key.Get("/integrations/search/patients?phone=" + url.QueryEscape(form))
			if form == phone.E164[1:] && phone.E164[:3] != "+55" && len(form) < 12 {
				continue // without its plus it is a Brazilian number
			}
			require.Equal(t, true, got["found"], form)
			require.Equal(t, there[phone.E164], got["patient"].(object)["id"], form)
			require.Equal(t, phone.E164, got["patient"].(object)["phone"])
		}
		var created string
		require.NoError(t, clinic.Hub.Host.Pool.QueryRow(t.Context(), `select phone_key from clinic.patients where id = $1`, there[phone.E164]).Scan(&created))
		require.Equal(t, brazil.PhoneKey(phone.E164), created)
		require.NoError(t, clinic.Hub.Host.Pool.QueryRow(t.Context(), `select pg_get_expr(adbin, adrelid) from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
			where d.adrelid = 'clinic.inbox'::regclass and a.attname = 'phone_key'`).Scan(&created))
		require.NoError(t, clinic.Hub.Host.Pool.QueryRow(t.Context(), `select `+created+` from (values ($1::text)) number (phone)`, phone.E164).Scan(&created))
		require.Equal(t, brazil.PhoneKey(phone.E164), created, "of who is not known yet")
	}
	for _, none := range hubtest.InvalidPhones {
		if strings.Trim(none, " ") != "" && !strings.Contains(none, "\x00") { // nothing is no number, and NUL no text
			clinic.Invalid("body.phone", "POST", "/patients", object{"name": "X", "phone": none})
		}
	}
	require.Equal(t, false, key.Get("/integrations/search/patients?phone=1122223333")["found"], "a landline that looks like a mobile's end")
	require.Equal(t, true, key.Get("/integrations/search/patients?phone=+12125551234")["found"], "a plus that nobody escaped")

	// One number, a family: the very number first, then who was there first; who was put away last.
	exact, short := clinic.AddPatient("+5531987650000"), clinic.AddPatient("+553187650000")
	second := clinic.AddPatient("+5531987650000")
	find := func(phone string) any {
		return key.Get("/integrations/search/patients?phone=" + phone)["patient"].(object)["id"]
	}
	require.Equal(t, exact, find("5531987650000"))
	require.Equal(t, short, find("553187650000"))
	clinic.OK(200, "PUT", "/patients/"+exact, object{"status": "inactive"})
	require.Equal(t, second, find("5531987650000"))
}
