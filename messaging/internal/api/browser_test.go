package api_test

import (
	"fmt"
	"testing"

	"integrationhub/hub/hubtest"
	"integrationhub/messaging/internal/messagingtest"
)

// The page of phones is accessible (WCAG 2.2 AA) in each of its states, light and dark, on a
// phone and a desktop, and is used with the keyboard alone.
func TestPhonePageInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	company := messagingtest.NewCompanyAlone(t)
	id := messagingtest.ID(company.OK(201, "POST", "/whatsapp", object{"name": "Reception"}))
	code := company.Get(fmt.Sprintf("/whatsapp/%d/qrCode", id))["qrcode"]
	hubtest.RunInBrowser(t, "messaging/internal/api/browser/phone.mjs", object{
		"base": company.Hub.Base, "token": company.APIToken(), "code": code, "company": "5511900000001", "ana": "5511987654321",
	})
}
