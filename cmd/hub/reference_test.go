package main_test

import (
	"testing"

	"integrationhub/hub/hubtest"
)

// The references of the hub and of each product in a browser: each draws its document by
// requests to its own origin alone, reports no error, and leads to the others. An operation
// that is tried from the hub's works with a token.
func TestReferencesInABrowser(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	s := sharedHub(t)
	hubtest.RunInBrowser(t, "hub/internal/reference/browser/references.mjs", object{
		"url": s.url, "token": s.token, "references": object{
			"/docs":            object{"title": "Integration Hub", "summary": "Log in with e-mail address and password"},
			"/clinic/docs":     object{"title": "Clinic", "summary": "Ask for a link to set a new password"},
			"/messaging/docs":  object{"title": "Messaging", "summary": "Book an appointment for the ticket's contact, who gets a message"},
			"/scheduling/docs": object{"title": "Scheduling", "summary": "Ask for a link to set a new password"},
		},
	})
}
