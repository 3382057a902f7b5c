package api_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A number of several people is answered with the most likely of them and how many match.
// What contradicts a given name or birth date is no match.
func TestPatientSearchOfSharedNumbers(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	add := func(name string, birthDate any) string {
		body := object{"name": name, "phone": clinictest.Phone}
		if birthDate != nil {
			body["birth_date"] = birthDate
		}
		return clinic.OK(201, "POST", "/patients", body)["id"].(string)
	}
	mother := add("Ana Souza", "1980-05-17")
	child := add("Ana Souza Lima", "2012-01-02")
	father := add("Davi Reis Lima", nil)
	twins := []string{add("Íris Lima", "2015-07-01"), add("João Lima", "2015-07-01")}
	key := clinic.NewKey("patient.search")
	for _, search := range []struct {
		name, birthDate string
		found           string // "" = nobody
		matches         int
	}{
		{"", "", mother, 5},
		{"", "2012-01-02", child, 2}, // of the father no birth date is known
		{"", "1999-09-09", father, 1},
		{"", "2015-07-01", twins[0], 3},
		{"João Lima", "2015-07-01", twins[1], 1},
		{"JOAO  LIMA", "", twins[1], 1},
		{"Iris L.", "2015-07-01", twins[0], 1},
		{"Ana Souza", "", mother, 2}, // may be the child's name, with a word left out
		{"Ana Souza Lima", "", child, 2},
		{"Ana S. Lima", "", child, 2},
		{"Ana Souza", "2012-01-02", child, 1},
		{"Davi Reis Lima", "1975-03-03", father, 1},
		{"Davi Reis Lima", "1980-05-17", father, 1},
		{"Ana Souza", "1975-03-03", "", 0},
		{"Bruna Costa", "", "", 0},
		{"Bruna Costa", "1980-05-17", "", 0},
		{"  ", "", mother, 5},
	} {
		query := url.Values{"phone": {clinictest.Phone}}
		if search.name != "" {
			query.Set("name", search.name)
		}
		if search.birthDate != "" {
			query.Set("birth_date", search.birthDate)
		}
		got := key.Get("/integrations/search/patients?" + query.Encode())
		require.Equal(t, search.found != "", got["found"], "%+v", search)
		require.EqualValues(t, search.matches, got["matches"], "%+v", search)
		if search.found == "" {
			require.Nil(t, got["patient"], "%+v", search)
			continue
		}
		require.Equal(t, search.found, got["patient"].(object)["id"], "%+v", search)
	}
	path := "/integrations/search/patients?phone=11987654321"
	for query, location := range map[string]string{"&birth_date=17/05/1980": "query.birth_date", "&birth_date=1980-02-30": "query.birth_date", "&birth_date=0001-01-01": "query.birth_date"} {
		key.Invalid(location, "GET", path+query, nil)
	}
	require.EqualValues(t, 0, clinic.AnotherClinic().NewKey().Get(path)["matches"])
}

// Matches are counted up to 100.
func TestPatientSearchBoundsMatches(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	_, err := clinic.Hub.Host.Pool.Exec(t.Context(), `insert into clinic.patients (clinic_id, env, id, name, phone, created_at)
		select $1, 'live', gen_random_uuid(), case n when 77 then 'Zoé Prado' else 'Ana ' || n end, '+5511987654321', now() + n * interval '1 second' from generate_series(1, 101) n`, clinic.ID)
	require.NoError(t, err)
	key := clinic.NewKey("patient.search")
	require.EqualValues(t, 100, key.Get("/integrations/search/patients?phone=11987654321")["matches"])
	got := key.Get("/integrations/search/patients?phone=11987654321&name=Zoe+Prado")
	require.EqualValues(t, 1, got["matches"])
	require.Equal(t, "Zoé Prado", got["patient"].(object)["name"])
}
