package jobs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// What runs by itself, and how often.
func TestJobs(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinic(t)
	require.Equal(t, time.Hour, p.Job("overdue").Every)
	require.Equal(t, 5*time.Minute, p.Job("deletions").Every)
	require.Zero(t, p.Job("import").Every, "when a file was uploaded")
}
