package clinictest

import (
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
)

// StartExport requests a bulk export with parameters such as "?_type=Patient", and returns the
// address of its status.
func (c *Clinic) StartExport(query string) (status string) {
	c.T.Helper()
	got := c.Call("GET", "/fhir/Patient/$export"+query, nil, "Prefer", "respond-async")
	require.Equal(c.T, 202, got.Status, got.Text)
	return got.Header.Get("Content-Location")
}

// WaitForExport waits until an export is done and returns its manifest.
func (c *Clinic) WaitForExport(status string) (manifest moduletest.Object) {
	c.T.Helper()
	require.Eventually(c.T, func() bool {
		got := c.Call("GET", status, nil)
		require.Contains(c.T, []int{200, 202}, got.Status, got.Text)
		manifest = got.Body
		return got.Status == 200
	}, Timeout, Tick)
	return manifest
}
