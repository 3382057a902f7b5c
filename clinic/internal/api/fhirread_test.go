package api_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest/fhirtest"
)

// chartPaths are the addresses of a chart's resources.
func chartPaths(chart *clinictest.Chart) []string {
	return []string{
		"/fhir/Patient/" + chart.PatientID, "/fhir/Appointment/" + chart.AppointmentID, "/fhir/Encounter/" + chart.VisitID,
		"/fhir/DocumentReference/" + chart.RecordID, "/fhir/Communication/" + chart.InteractionID,
	}
}

// "`ETag`/`If-None-Match`/`Last-Modified`": reads have validators, and answer 304 to the ETag of
// what would be sent: what one caller may see has another ETag than what another may.
func TestFHIRConditionalReads(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	key := chart.NewKey("patient.read")
	for _, path := range append(chartPaths(chart), "/fhir/metadata", "/fhir/OperationDefinition/Patient-everything") {
		first := chart.Call("GET", path, nil)
		etag := first.Header.Get("ETag")
		require.Regexp(t, `^W/"[\w-]{22}"$`, etag, path)
		if meta, ok := first.Body["meta"].(object); ok {
			changed, err := http.ParseTime(first.Header.Get("Last-Modified"))
			require.NoError(t, err)
			require.Equal(t, meta["lastUpdated"].(string)[:19], changed.Format("2006-01-02T15:04:05"), path)
		} else {
			require.Empty(t, first.Header.Get("Last-Modified"), path)
		}
		for _, fitting := range []string{etag, strings.TrimPrefix(etag, "W/"), `"x", ` + etag, "*"} {
			got := chart.Call("GET", path, nil, "If-None-Match", fitting)
			require.Equal(t, 304, got.Status, "%s with %s", path, fitting)
			require.Empty(t, got.Text)
			require.Equal(t, etag, got.Header.Get("ETag"))
		}
		for _, other := range []string{`W/"x"`, "", etag[:len(etag)-3] + `x"`} {
			require.Equal(t, 200, chart.Call("GET", path, nil, "If-None-Match", other).Status, "%s with %s", path, other)
		}
	}
	document := "/fhir/DocumentReference/" + chart.RecordID
	require.NotEqual(t, chart.Call("GET", document, nil).Header.Get("ETag"), key.Call("GET", document, nil).Header.Get("ETag"), "a peer sees less")
	patient := "/fhir/Patient/" + chart.PatientID
	before := chart.Call("GET", patient, nil).Header.Get("ETag")
	require.NotEqual(t, before, chart.Call("GET", patient+"?_elements=name", nil).Header.Get("ETag"))
	chart.OK(200, "PUT", "/clinic", object{"name": "Clínica Lua"})
	require.Equal(t, 200, chart.Call("GET", patient, nil, "If-None-Match", before).Status, "the name of the clinic is a part of it")
	require.Equal(t, 404, chart.Call("GET", "/fhir/Patient/"+uuid.NewString(), nil, "If-None-Match", "*").Status)
	require.Equal(t, 403, chart.NewKey("record.read").Call("GET", patient, nil, "If-None-Match", "*").Status)
	require.Equal(t, 401, chart.As("").Call("GET", patient, nil, "If-None-Match", "*").Status)
}

// "`HEAD`": each read and search answers HEAD as it answers GET, without the body.
func TestFHIRHead(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	paths := append(chartPaths(chart), "/fhir/metadata", "/fhir/OperationDefinition/Patient-everything", "/fhir/Patient", "/fhir/Appointment?status=booked",
		"/fhir/Encounter", "/fhir/DocumentReference", "/fhir/Communication", "/fhir/Patient/"+chart.PatientID+"/$everything", "/fhir/Patient/"+uuid.NewString())
	for _, path := range paths {
		get, head := chart.Call("GET", path, nil), chart.Call("HEAD", path, nil)
		require.Equal(t, get.Status, head.Status, path)
		require.Empty(t, head.Text, path)
		for _, name := range []string{"Content-Type", "ETag", "Last-Modified"} {
			require.Equal(t, get.Header.Get(name), head.Header.Get(name), "%s of %s", name, path)
		}
	}
	// Nothing follows the header, also where the body would be streamed.
	conn, err := net.Dial("tcp", strings.TrimPrefix(chart.Hub.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "HEAD %s/fhir/Patient/%s/$everything HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n",
		strings.TrimPrefix(chart.Hub.Base, chart.Hub.URL), chart.PatientID, chart.Token)
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 200"), "%s", answer)
	require.Equal(t, len(answer)-len("\r\n\r\n"), strings.Index(string(answer), "\r\n\r\n"), "%s", answer)

	etag := chart.Call("HEAD", paths[0], nil).Header.Get("ETag")
	require.Equal(t, 304, chart.Call("HEAD", paths[0], nil, "If-None-Match", etag).Status)
	require.Equal(t, 406, chart.Call("HEAD", paths[0], nil, "Accept", "text/html").Status)
	require.Equal(t, 401, chart.As("").Call("HEAD", paths[0], nil).Status)
	require.Equal(t, 4, chart.QueryInt(`select count(*) from hub.audit where tenant_id = $1 and action = 'fhir.read-patient' and resource_id = $2 and status in (200, 304)`,
		chart.PatientID), "GET, HEAD, HEAD for the ETag and with it are on record")
}

// "404/405 as OperationOutcome": also where no operation takes the request.
func TestFHIRRefusalsAreOutcomes(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	patient := "/fhir/Patient/" + chart.PatientID
	for _, request := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/fhir", 404, "not-found"}, {"GET", "/fhir/", 404, "not-found"}, {"GET", "/fhir/Observation", 404, "not-found"}, {"GET", "/FHIR/Observation/1", 404, "not-found"},
		{"GET", patient + "/_history", 404, "not-found"}, {"GET", patient + "/$validate", 404, "not-found"}, {"POST", "/fhir/Patient/x/$match", 404, "not-found"},
		{"DELETE", patient, 405, "not-supported"}, {"PUT", patient, 405, "not-supported"}, {"POST", "/fhir/Patient", 405, "not-supported"}, {"PATCH", patient, 405, "not-supported"},
		{"POST", "/fhir/metadata", 405, "not-supported"}, {"MKCOL", patient, 405, "not-supported"},
	} {
		got := chart.Call(request.method, chart.Hub.Base+request.path, nil)
		require.Equal(t, request.status, got.Status, "%s %s: %s", request.method, request.path, got.Text)
		require.Equal(t, fhirType, got.Header.Get("Content-Type"), "%s %s: %s", request.method, request.path, got.Text)
		require.NoError(t, fhirtest.Validate([]byte(got.Text)), got.Text)
		code, _ := firstIssue(t, got.Body)
		require.Equal(t, request.code, code, "%s %s", request.method, request.path)
		require.Equal(t, request.status == 405, got.Header.Get("Allow") != "", "%s %s", request.method, request.path)
		require.NotEmpty(t, got.Header.Get("X-Request-Id"))
	}
	chart.Refused(404, "not_found", "GET", chart.Hub.Base+"/fhirs", nil)
	chart.Refused(404, "not_found", "GET", "/nowhere", nil)
	long := chart.Call("POST", "/fhir/Patient/_search", "name="+strings.Repeat("x", 1<<20), "Content-Type", formType)
	require.Equal(t, 413, long.Status)
	require.NoError(t, fhirtest.Validate([]byte(long.Text)), long.Text)
}

// elementsOf are the names of a resource's elements, without those that every answer has.
func elementsOf(resource object) []string {
	names := []string{}
	for name := range resource {
		if name != "resourceType" && name != "id" && name != "meta" {
			names = append(names, name)
		}
	}
	return names
}

// "`_elements`": the elements asked for and mandatory ones are sent, marked as a part.
func TestFHIRElements(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	for path, want := range map[string][]string{
		"Patient/" + chart.PatientID + "?_elements=name,birthDate": {"name", "birthDate"}, "Patient/" + chart.PatientID + "?_elements=Patient.telecom": {"telecom"},
		"Patient/" + chart.PatientID + "?_elements=Encounter.name": {}, "Patient/" + chart.PatientID + "?_elements=x": {},
		"Appointment/" + chart.AppointmentID + "?_elements=end":        {"_end", "participant", "status"},
		"Encounter/" + chart.VisitID + "?_elements=period":             {"period", "class", "status"},
		"DocumentReference/" + chart.RecordID + "?_elements=date":      {"date", "content", "status"},
		"Communication/" + chart.InteractionID + "?_elements=sent, id": {"sent", "status"},
	} {
		read := FHIR(chart.Clinic, 200, "/fhir/"+strings.ReplaceAll(path, " ", "%20"))
		require.ElementsMatch(t, want, elementsOf(read), path)
		require.Equal(t, "SUBSETTED", read["meta"].(object)["tag"].([]any)[0].(object)["code"], path)
		require.NotEmpty(t, read["meta"].(object)["lastUpdated"])
		name, query, _ := strings.Cut(path, "/")
		id, query, _ := strings.Cut(query, "?")
		bundle := FHIR(chart.Clinic, 200, "/fhir/"+name+"?_id="+id+"&"+strings.ReplaceAll(query, " ", "%20"))
		require.Equal(t, read, bundle["entry"].([]any)[0].(object)["resource"], path)
	}
	require.Empty(t, FHIR(chart.Clinic, 200, "/fhir/Patient/"+chart.PatientID+"?_elements=")["meta"].(object)["tag"])
	FHIR(chart.Clinic, 400, "/fhir/Patient/"+chart.PatientID+"?_elements=name&_summary=text")
	FHIR(chart.Clinic, 200, "/fhir/Patient/"+chart.PatientID+"?_elements=name&_summary=false")
}

// "`_summary` all values". What true leaves out is compared with R4's definitions in
// TestFHIRSearchesAgreeWithR4.
func TestFHIRSummaries(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	for _, path := range chartPaths(chart) {
		whole := FHIR(chart.Clinic, 200, path)
		for _, value := range []string{"data", "false", ""} {
			require.Equal(t, whole, FHIR(chart.Clinic, 200, path+"?_summary="+value), path)
		}
		text := FHIR(chart.Clinic, 200, path+"?_summary=text")
		mandatory := map[string][]string{
			"Patient": {}, "Appointment": {"status", "participant"}, "Encounter": {"status", "class"}, "DocumentReference": {"status", "content"}, "Communication": {"status"},
		}[whole["resourceType"].(string)]
		require.ElementsMatch(t, mandatory, elementsOf(text), path)
		summary := FHIR(chart.Clinic, 200, path+"?_summary=true")
		require.Equal(t, "SUBSETTED", summary["meta"].(object)["tag"].([]any)[0].(object)["code"], path)
		FHIR(chart.Clinic, 400, path+"?_summary=count")
		FHIR(chart.Clinic, 400, path+"?_summary=x")
		name := strings.Split(path, "/")[2]
		for value, resource := range map[string]object{"true": summary, "text": text, "data": whole} {
			bundle := FHIR(chart.Clinic, 200, "/fhir/"+name+"?_summary="+value+"&_id="+whole["id"].(string))
			require.Equal(t, resource, bundle["entry"].([]any)[0].(object)["resource"], "%s %s", name, value)
		}
		counted := FHIR(chart.Clinic, 200, "/fhir/"+name+"?_summary=count&_id="+whole["id"].(string))
		require.EqualValues(t, 1, counted["total"])
		require.NotContains(t, counted, "entry")
	}
	summary := chart.Call("GET", "/fhir/DocumentReference/"+chart.RecordID+"?_summary=true", nil).Text
	require.NotContains(t, summary, `"data"`, "an attachment's data is no summary")
	require.Contains(t, summary, "contentType")
}

// "`prev` links": from each page back to the one before, with every order.
func TestFHIRPagesBackAndForth(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	for range 6 {
		chart.OK(201, "POST", "/patients", object{"name": "Zuleica Prado", "phone": "+5511987654321"})
	}
	for _, query := range []string{"Patient?_count=3", "Patient?_count=2&name=zuleica", "Patient?_count=2&_sort=-name", "Patient?_count=2&_sort=birthdate,-_lastUpdated", "Appointment?_count=1&_sort=-date"} {
		var forth, back [][]string
		page := FHIR(chart.Clinic, 200, "/fhir/"+query)
		require.Empty(t, pageLink(page, "prev"), "%s: the first page", query)
		for {
			forth = append(forth, BundleIDs(page))
			next := pageLink(page, "next")
			if next == "" {
				break
			}
			page = FHIR(chart.Clinic, 200, strings.TrimPrefix(next, chart.Hub.Base))
		}
		require.Greater(t, len(forth), 2, query)
		for {
			back = append([][]string{BundleIDs(page)}, back...)
			previous := pageLink(page, "prev")
			if previous == "" {
				break
			}
			page = FHIR(chart.Clinic, 200, strings.TrimPrefix(previous, chart.Hub.Base))
			require.NotEmpty(t, pageLink(page, "next"), query)
		}
		last := back[len(back)-1]
		require.Equal(t, forth[len(forth)-1], last, query)
		flat := func(pages [][]string) (ids []string) {
			for _, page := range pages {
				ids = append(ids, page...)
			}
			return ids
		}
		require.Equal(t, flat(forth), flat(back), query)
	}
	link := pageLink(FHIR(chart.Clinic, 200, "/fhir/Patient?_count=2&_sort=name"), "next")
	require.NotContains(t, link, "zuleica")
	address, err := url.Parse(link)
	require.NoError(t, err)
	cursor := address.Query().Get("_after")
	for _, bad := range []string{"_sort=-name&_after=" + cursor, "_after=" + cursor, "_sort=name&_after=" + chart.PatientID, "_sort=name&_after=" + cursor + "x", "_sort=name&_after=" + cursor + "&_before=" + cursor} {
		FHIR(chart.Clinic, 400, "/fhir/Patient?"+bad)
	}
	FHIR(chart.AnotherClinic(), 400, "/fhir/Patient?_sort=name&_after="+cursor)
	FHIR(chart.InEnvironment("test"), 400, "/fhir/Patient?_sort=name&_after="+cursor)
}
