package jobs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// The jobs and how often they run.
func TestJobs(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	require.Equal(t, time.Hour, clinic.Job("overdue").Every)
	require.Equal(t, 5*time.Minute, clinic.Job("deletions").Every)
	require.Zero(t, clinic.Job("import").Every, "when a file was uploaded")
}
