package maintain

import "context"

// Step handles one batch of one running replay.
func (s *Replays) Step(ctx context.Context) (more bool, err error) { return s.step(ctx) }
