package clinictest

import (
	"github.com/stretchr/testify/require"
)

// RequestDeletion asks to forget a patient and gives the path of the request.
func (p *Clinic) RequestDeletion(patient string) string {
	p.T.Helper()
	return "/deletion-requests/" + p.OK(202, "POST", "/patients/"+patient+"/deletion-request", nil)["id"].(string)
}

// WaitForDeletion runs the job until a request has a status.
func (p *Clinic) WaitForDeletion(path, status string) object {
	p.T.Helper()
	var got object
	require.Eventually(p.T, func() bool {
		require.NoError(p.T, p.Job("deletions").Run(p.T.Context(), nil))
		got = p.Get(path)
		return got["status"] == status
	}, 2*Timeout, 10*Tick, "%v", &got)
	return got
}

// HurryJobs has the hub look now at what it looks at less and less often.
func (p *Clinic) HurryJobs() {
	p.T.Helper()
	_, err := p.Hub.Host.Pool.Exec(p.T.Context(), "update hub.erasures set due_at = now() where finished_at is null")
	require.NoError(p.T, err)
}
