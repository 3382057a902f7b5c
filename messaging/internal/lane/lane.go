// Package lane divides a background job by connections. A run of a job waits for the one before
// it; runs of other lanes do not, so that a network that hangs holds up its own lane only.
package lane

import (
	"strconv"

	"integrationhub/hub/module"
)

// count is how many lanes a job has.
const count = 8

// Of returns the name under which runs for a connection, or for another id, are enqueued. The
// first lane has the job's own name.
func Of(job string, id int64) string {
	if n := id % count; n != 0 {
		return job + "-" + strconv.FormatInt(n, 10)
	}
	return job
}

// Split returns the lanes of a job.
func Split(job module.Job) []module.Job {
	lanes := make([]module.Job, count)
	for n := range lanes {
		lanes[n] = job
		lanes[n].Name = Of(job.Name, int64(n))
	}
	return lanes
}
