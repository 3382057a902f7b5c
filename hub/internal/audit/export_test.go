package audit

import "time"

// SetClock sets the clock by which minutes are counted.
func (r *Recorder) SetClock(now func() time.Time) { r.now = now }
