package maintain

import "context"

// Step handles one batch of one running replay.
func (s *Replays) Step(ctx context.Context) (more bool, err error) { return s.step(ctx) }

// TakeBackCancelled parks what cancelled replays made pending.
func (s *Replays) TakeBackCancelled(ctx context.Context) error { return s.takeBackCancelled(ctx) }
