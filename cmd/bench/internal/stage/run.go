package stage

import (
	"io"

	"integrationhub/cmd/bench/internal/service"
)

// Run is what all scenarios of a run share.
type Run struct {
	Options  Options
	Dir      string // temporary, with a directory for each stage
	Programs *service.Programs
	Before   *service.Programs // of the version to compare with; nil: none
	Progress io.Writer         // for a line at each step
}

// Options are the sizes of a run.
type Options struct {
	Rounds      int     // repetitions of closed-loop scenarios
	Events      int     // in the closed loop
	Rate        float64 // events per second at the fixed rate
	RateEvents  int     // events at the fixed rate
	Connections int     // of the generator
	Size        int     // bytes of each event's data object
	Keep        bool    // keep databases and logs
}
