package api_test

import (
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/clinic/internal/fhir"
)

// "no FHIR search parameter value makes a 5xx": generated values of every parameter with every
// modifier, several at a time.
func TestFHIRSearchValuesNeverFail(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	const seed, rounds = 25, 2500
	random := rand.New(rand.NewPCG(seed, seed))
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	pieces := []string{
		"ge", "ap", "ne", "eb", "1000", "9999", "0001", "99999", "-12-31", "-02-30", "T23:59:60Z", "T24:00", "+99:99", "-00:00", ".999999999999", "|", "\\", ",", "$", ":", "'", "%", "_", "*", "&", "(", "!", " ",
		"true", "false", "phone|", "email|", "urn:x|", "http://hl7.org/fhir/appointmentstatus|", "a", "Ana", "É", "李", "🙂", "\u0301", "\u200b", "\x00", "\xff", "\u2028", "12345678909", "+5511987654321", "00000000-0000-0000-0000-000000000000",
		chart.PatientID, "Patient/", "-1", "1e9", "99999999999999999999", "-", "_id", "name", "-birthdate", "date", "Appointment:patient", "Encounter:appointment", "NaN", "null", "\n", "\t",
	}
	names := map[string][]string{}
	types := []string{fhir.TypePatient, fhir.TypeAppointment, fhir.TypeEncounter, fhir.TypeDocumentReference, fhir.TypeCommunication}
	for _, name := range types {
		for _, param := range fhir.SearchParams(name) {
			names[name] = append(names[name], param.Name)
			for _, modifier := range param.Modifiers {
				names[name] = append(names[name], param.Name+":"+modifier)
			}
		}
		names[name] = append(names[name], fhir.ResultParams...)
	}
	answered := map[int]int{}
	for range rounds {
		name, query := pick(types), url.Values{}
		for range 1 + random.IntN(3) {
			var value strings.Builder
			for range 1 + random.IntN(4) {
				value.WriteString(pick(pieces))
			}
			query.Add(pick(names[name]), value.String())
		}
		got := chart.Call("GET", "/fhir/"+name+"?"+query.Encode(), nil)
		require.Contains(t, []int{200, 400, 406}, got.Status, "%s?%s: %s", name, query.Encode(), got.Text)
		answered[got.Status]++
	}
	require.Greater(t, answered[200], rounds/10, "not only refusals: %v", answered)
	require.Greater(t, answered[400], rounds/10, "%v", answered)
}
