package clinictest

import (
	"integrationhub/hub/hubtest/moduletest"

	"github.com/stretchr/testify/require"
)

// RequestDeletion requests the deletion of a patient and returns the request's path.
func (c *Clinic) RequestDeletion(patientID string) string {
	c.T.Helper()
	return "/deletion-requests/" + c.OK(202, "POST", "/patients/"+patientID+"/deletion-request", nil)["id"].(string)
}

// WaitForDeletion runs the job until a deletion request has a status, and returns it.
func (c *Clinic) WaitForDeletion(path, status string) moduletest.Object {
	c.T.Helper()
	var request object
	require.Eventually(c.T, func() bool {
		require.NoError(c.T, c.Job("deletions").Run(c.T.Context(), nil))
		request = c.Get(path)
		return request["status"] == status
	}, 2*Timeout, 10*Tick, "%v", &request)
	return request
}

// HurryErasures makes the hub's unfinished erasures due now, instead of at the end of
// their pause.
func (c *Clinic) HurryErasures() {
	c.T.Helper()
	_, err := c.Hub.Host.Pool.Exec(c.T.Context(), "update hub.erasures set due_at = now() where finished_at is null")
	require.NoError(c.T, err)
}
