package api_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest"
)

// queryParameters returns the names of the query parameters of the document's GET operations,
// by operation id.
func queryParameters(clinic *clinictest.Clinic) map[string][]string {
	clinic.T.Helper()
	res, err := hubtest.HTTPClient.Get(clinic.Hub.Base + "/openapi.json")
	require.NoError(clinic.T, err)
	defer res.Body.Close()
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string                      `json:"operationId"`
			Parameters  []struct{ Name, In string } `json:"parameters"`
		} `json:"paths"`
	}
	require.NoError(clinic.T, json.NewDecoder(res.Body).Decode(&document))
	names := map[string][]string{}
	for _, methods := range document.Paths {
		if op, ok := methods["get"]; ok {
			for _, parameter := range op.Parameters {
				if parameter.In == "query" {
					names[op.OperationID] = append(names[op.OperationID], parameter.Name)
				}
			}
		}
	}
	return names
}

// Each parameter of an address or a form is parsed or refused, and personal data is in no log.
func TestBadQueries(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t).WithRecords()
	owned, names, key := ResourceIDs(clinic), queryParameters(clinic.Clinic), clinic.NewKey()
	bad := map[string]string{
		"letters": strings.Repeat("canary", 500), "words": strings.Repeat("canary ", 700), "commas": strings.Repeat("a,", 1500), "digits": strings.Repeat("9", 3000),
		"NUL": "canary\x00", "broken UTF-8": "canary\xff\xfe", "operators": "canary & | ! :* ' \\ ( <->", "overlong": "canary\xc0\x80", "surrogate": "canary\xed\xa0\x80",
	}
	tried := 0
	for _, op := range clinic.OwnOperations() {
		if op.Method != "GET" {
			continue
		}
		as := clinic.Clinic
		if op.Requires("key", "") && !op.Requires("bearer", "") {
			as = key
		}
		path := strings.Replace(op.Path, "{id}", owned[idKind(op.Path)], 1)
		for _, name := range names[op.ID] {
			for what, value := range bad {
				got := as.Call("GET", path+"?"+url.Values{name: {value}}.Encode(), nil)
				require.Less(t, got.Status, 500, "%s?%s with %s: %.300s", op.Path, name, what, got.Text)
				tried++
			}
		}
	}
	require.Greater(t, tried, 400)

	bad["long letters"], bad["very many words"], bad["very many commas"] = strings.Repeat("canary", 100_000), strings.Repeat("b ", 100_000), strings.Repeat("a,", 100_000)
	const form = "application/x-www-form-urlencoded"
	for _, name := range names["fhir.search-patients"] {
		for what, value := range bad {
			got := clinic.Call("POST", "/fhir/Patient/_search", url.Values{name: {value}}.Encode(), "Content-Type", form)
			require.Less(t, got.Status, 500, "%s with %s: %.300s", name, what, got.Text)
		}
	}
	for what, value := range bad {
		got := clinic.Call("POST", "/patients/search", object{"search": value})
		require.Less(t, got.Status, 500, "%s: %.300s", what, got.Text)
	}
	for _, name := range []string{"name", "phone", "telecom", "identifier"} {
		for _, value := range []string{strings.Repeat("x", 201), strings.Repeat("b ", 41)} {
			got := clinic.Call("POST", "/fhir/Patient/_search", url.Values{name: {value}}.Encode(), "Content-Type", form)
			require.Equal(t, 400, got.Status, "%s: %.300s", name, got.Text)
		}
	}
	clinic.OK(200, "POST", "/fhir/Patient/_search", url.Values{"name": {strings.Repeat("x", 200)}}.Encode(), "Content-Type", form)
	require.NotContains(t, clinic.Hub.Log(), "canary")
}
