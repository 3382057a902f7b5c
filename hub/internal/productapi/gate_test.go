package productapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
)

// Requests that wait for other systems, reports and the hub's routes do not take the places of a
// tenant's other requests, nor do anonymous ones.
func TestGatesOfOperations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGates()
		user := &requestInfo{isKnown: true, caller: module.Caller{TenantID: uuid.New()}}
		enter := func(op huma.Operation, info *requestInfo) error {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			if !info.isKnown {
				request.SetPathValue(paramSlug, "Salon")
			}
			_, err := g.enter(humago.NewContext(&op, request, httptest.NewRecorder()), info)
			return err
		}
		callingOut := huma.Operation{OperationID: "messages.create", Metadata: map[string]any{module.MetadataCallsOut: true}}
		for op, places := range map[*huma.Operation]int{&callingOut: maxCallsOut, {OperationID: "reports.tickets"}: maxReports, {Path: interfacePath + "/status"}: maxHubRequests} {
			for range places {
				require.NoError(t, enter(*op, user))
			}
			require.Error(t, enter(*op, user), op.OperationID)
		}
		start := time.Now()
		for range maxUserRequests - maxReports {
			require.NoError(t, enter(huma.Operation{OperationID: "tickets.list"}, user))
		}
		for range maxAnonymousCallsOut {
			require.NoError(t, enter(callingOut, &requestInfo{}))
		}
		for range maxAnonymousRequests {
			require.NoError(t, enter(huma.Operation{OperationID: "public.services"}, &requestInfo{}))
		}
		require.Zero(t, time.Since(start), "none of these has waited")
		require.Error(t, enter(huma.Operation{OperationID: "public.services"}, &requestInfo{}))
		require.Error(t, enter(huma.Operation{OperationID: "tickets.list"}, user))
	})
}
