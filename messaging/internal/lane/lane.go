// Package lane divides a background job by connections. A run of a job waits for the one before
// it; runs of other lanes do not, so that a network that hangs holds up its own lane only.
package lane

import "strconv"

// Count is how many lanes a job has.
const Count = 8

// Of returns the name under which runs for a connection, or for another id, are enqueued. The
// first lane has the job's own name.
func Of(job string, id int64) string {
	if n := id % Count; n != 0 {
		return job + "-" + strconv.FormatInt(n, 10)
	}
	return job
}
