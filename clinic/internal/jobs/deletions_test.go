package jobs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A deletion request that cannot be updated does not keep others from being updated.
func TestFailedRequestDelaysNoOther(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging := clinic.ConnectPeer("messaging")
	messaging.SetStatus(500)
	var paths []string
	for _, number := range []string{"+5511977771111", "+5511977772222", "+5511977773333"} {
		paths = append(paths, clinic.RequestDeletion(clinic.AddPatient(number)))
	}
	_, err := clinic.Hub.Host.Pool.Exec(t.Context(), `
		update clinic.deletion_requests set event_id = 'broken' where id = $1`, strings.TrimPrefix(paths[0], "/deletion-requests/"))
	require.NoError(t, err)
	// Nothing can be written about the first one.
	_, err = clinic.Hub.Host.Pool.Exec(t.Context(), `
		create function clinic.refuse() returns trigger language plpgsql as $$ begin
			if new.event_id = 'broken' then raise 'broken by the test'; end if; return new; end $$`)
	require.NoError(t, err)
	_, err = clinic.Hub.Host.Pool.Exec(t.Context(), `create trigger refuse before update on clinic.deletion_requests for each row execute function clinic.refuse()`)
	require.NoError(t, err)
	messaging.SetStatus(0)
	require.Eventually(t, func() bool {
		require.ErrorContains(t, clinic.Job("deletions").Run(t.Context(), nil), "broken by the test")
		return clinic.QueryInt(`select count(*) from clinic.deletion_requests where clinic_id = $1 and status = 'completed'`) == 2
	}, 2*clinictest.Timeout, 10*clinictest.Tick)
}

// Updating many unchanged requests takes as many queries as updating one.
func TestRequestsAreUpdatedTogether(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging := clinic.ConnectPeer("messaging")
	messaging.SetStatus(500)
	other := clinic.AnotherClinic()
	other.ConnectPeer("messaging").SetStatus(500)
	paths := []string{clinic.RequestDeletion(clinic.AddPatient("+5511977770000"))}
	took := func() int64 {
		before := clinic.Hub.QueryCount.Load()
		require.NoError(t, clinic.Job("deletions").Run(t.Context(), nil))
		return clinic.Hub.QueryCount.Load() - before
	}
	number := took()
	for i := range 8 {
		paths = append(paths, clinic.RequestDeletion(clinic.AddPatient(fmt.Sprintf("+551197777%04d", i+1))))
		other.RequestDeletion(other.AddPatient(fmt.Sprintf("+551197777%04d", i+1)))
	}
	require.Equal(t, number, took())
	messaging.SetStatus(0)
	clinic.WaitForDeletion(paths[0], "completed")
	clinic.WaitForDeletion(paths[8], "completed")
}
