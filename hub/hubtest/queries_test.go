package hubtest_test

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// publishingTables are the tables of each product whose changes publish events.
var publishingTables = map[string][]string{
	"clinic":     {"patients", "records", "appointments", "interactions", "payments"},
	"messaging":  {"contacts", "tickets", "messages"},
	"scheduling": {"appointments", "clients", "payments"},
}

// silentWrites are the queries that write these tables and are called outside of the package
// store, with the reason.
var silentWrites = map[string][]string{
	"clinic": {
		// Of the erasure, whose event is the deletion's.
		"AnonymizePatient", "EraseAndLockRecords", "EraseAppointmentTexts", "EraseInteractionTexts", "ErasePaymentTexts", "MaskAppointmentID",
		// Bookings of the scheduling product, which published them.
		"DeleteAppointment", "ReleasePaymentsOfAppointment", "ReleasePaymentsOfFormerPatients", "UpsertBooking", "UpsertUnidentifiedBooking",
		// Of undoing an import, which publishes patient.updated.
		"DeletePatientRow",
	},
	"messaging": {
		// No event has what was read, asked for or noted.
		"DecrementUnread", "MarkMessagesRead", "MarkTicketRead", "SetContactConsent", "SetContactLastInbound", "SetContactOutOfHours", "SetNetworkNumber", "SetRatingAsked",
		"SetTicketRating",
		// Nor that a message is queued once more.
		"RequeueMessage",
	},
	"scheduling": {
		"WithdrawMarketingConsent", // no event has a client's consent
	},
}

var (
	generatedQuery = regexp.MustCompile("(?s)-- name: (\\w+) :\\w+\n(.*?)`")
	methodName     = regexp.MustCompile(`(?m)^func \(\w+ \*?\w+\) (\w+)\(`)
	selectorCall   = regexp.MustCompile(`\.(\w+)\(`)
)

// A change of what events are published of goes through a method of the store, which publishes
// them. Queries that sqlc generates publish nothing: outside of the store only those are called
// that read, or that are listed above.
func TestStoresPublishWhatTheyChange(t *testing.T) {
	t.Parallel()
	for product, tables := range publishingTables {
		store := path.Join(product, "internal", "store")
		queries, called := writingQueries(t, product, store, tables), make(map[string]bool)
		require.Greater(t, len(queries), 10, product)
		walkFiles(t, product, ".go", func(name string, source []byte) error {
			if path.Dir(name) == store || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(path.Dir(name), "test") {
				return nil
			}
			for _, call := range selectorCall.FindAllSubmatch(source, -1) {
				if queries[string(call[1])] {
					called[string(call[1])] = true
				}
			}
			return nil
		})
		require.ElementsMatch(t, silentWrites[product], slices.Collect(maps.Keys(called)), "change what %s publishes by a method of its store, or list the query with its reason", product)
	}
}

// writingQueries returns the generated queries that write one of the tables, but for those for
// which a type of the store has a method of that name.
func writingQueries(t *testing.T, product, store string, tables []string) map[string]bool {
	t.Helper()
	writes := regexp.MustCompile(`(?i)\b(?:insert into|update|delete from) (?:` + product + `\.)?(?:` + strings.Join(tables, "|") + `)\b`)
	queries := make(map[string]bool)
	for _, source := range readDirectory(t, path.Join(store, "dbgen"), ".sql.go") {
		for _, query := range generatedQuery.FindAllStringSubmatch(source, -1) {
			if writes.MatchString(query[2]) {
				queries[query[1]] = true
			}
		}
	}
	for _, source := range readDirectory(t, store, ".go") {
		for _, method := range methodName.FindAllStringSubmatch(source, -1) {
			delete(queries, method[1])
		}
	}
	return queries
}

// readDirectory returns the files of a directory whose names have an ending.
func readDirectory(t *testing.T, directory, ending string) (sources []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(hubtest.ModuleRoot(), directory, "*"+ending))
	require.NoError(t, err)
	for _, name := range names {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		sources = append(sources, string(source))
	}
	return sources
}
