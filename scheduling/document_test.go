package scheduling_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rows are the endpoint tables of interface document 1 that are this product's own.
// The hub answers connect, status, webhook and health for every product.
const rows = `
POST /api/v1/auth/register
POST /api/v1/auth/login
POST /api/v1/auth/refresh
POST /api/v1/auth/forgot-password
POST /api/v1/auth/reset-password
GET /api/v1/auth/me
GET /api/v1/organization
PUT /api/v1/organization
PUT /api/v1/organization/settings
POST /api/v1/organization/logo
GET /api/v1/services
POST /api/v1/services
PUT /api/v1/services/{id}
DELETE /api/v1/services/{id}
PUT /api/v1/services/reorder
GET /api/v1/professionals
POST /api/v1/professionals
PUT /api/v1/professionals/{id}
DELETE /api/v1/professionals/{id}
GET /api/v1/professionals/{id}/services
PUT /api/v1/professionals/{id}/services
GET /api/v1/schedule-rules
POST /api/v1/schedule-rules
PUT /api/v1/schedule-rules/{id}
DELETE /api/v1/schedule-rules/{id}
POST /api/v1/schedule-rules/copy/{fromId}/{toId}
GET /api/v1/schedule-exceptions
POST /api/v1/schedule-exceptions
PUT /api/v1/schedule-exceptions/{id}
DELETE /api/v1/schedule-exceptions/{id}
GET /api/v1/availability
GET /api/v1/appointments
GET /api/v1/appointments/{id}
POST /api/v1/appointments
PUT /api/v1/appointments/{id}
POST /api/v1/appointments/{id}/confirm
POST /api/v1/appointments/{id}/cancel
POST /api/v1/appointments/{id}/complete
POST /api/v1/appointments/{id}/noshow
POST /api/v1/appointments/{id}/reschedule
GET /api/v1/clients
GET /api/v1/clients/{id}
POST /api/v1/clients
PUT /api/v1/clients/{id}
GET /api/v1/clients/{id}/appointments
GET /api/v1/clients/{id}/payments
GET /api/v1/payments
POST /api/v1/payments
POST /api/v1/payments/pix
POST /api/v1/payments/webhook/{provider}
GET /api/v1/reports/dashboard
GET /api/v1/reports/occupancy
GET /api/v1/reports/revenue
GET /api/v1/reports/noshow
GET /api/v1/reports/clients/inactive
GET /api/v1/reports/services/popular
GET /api/v1/public/book/{slug}
GET /api/v1/public/book/{slug}/services
GET /api/v1/public/book/{slug}/professionals
GET /api/v1/public/book/{slug}/availability
POST /api/v1/public/book/{slug}/appointments
POST /api/v1/public/book/{slug}/cancel
GET /api/v1/integrations/search/clients
GET /api/v1/integrations/search/appointments
POST /api/v1/integrations/action/book
GET /api/v1/loyalty/config
PUT /api/v1/loyalty/config
GET /api/v1/loyalty/clients/{id}`

func TestEveryRowOfTheDocumentIsThere(t *testing.T) {
	t.Parallel()
	var have []string
	for _, op := range operations(newStudio(t)) {
		have = append(have, op.Method+" "+op.Path)
	}
	var lacking []string
	for _, row := range strings.Split(strings.TrimSpace(rows), "\n") {
		if !slices.Contains(have, row) {
			lacking = append(lacking, row)
		}
	}
	require.Empty(t, lacking)
}

func TestChargesWithoutAProvider(t *testing.T) {
	t.Parallel()
	p := opened(t, "HUB_PAYMENT_PROVIDER=none")
	id := p.book(0)
	p.refused(409, "provider_not_configured", "POST", "/payments/pix", object{"appointment_id": id})
	p.invalid("body.amount", "POST", "/payments/pix", object{"client_id": p.client})
	p.refused(422, "validation_failed", "POST", "/payments/pix", object{"appointment_id": id, "expires_in_minutes": 1})
	p.ok(201, "POST", "/payments", object{"appointment_id": id, "amount": 80, "method": "cash"})
	p.refused(409, "already_paid", "POST", "/payments/pix", object{"appointment_id": id})
	p.as("").refused(404, "not_found", "POST", "/payments/webhook/unheard-of", object{})
	require.EqualValues(t, 1, p.ok(200, "GET", "/payments?month=2026-02", nil)["total"], "no charge is kept")
}
