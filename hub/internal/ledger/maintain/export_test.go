package maintain

import (
	"context"
	"time"
)

// Step handles one batch of one running replay.
func (s *Replays) Step(ctx context.Context) (more bool, err error) { return s.step(ctx) }

// ParkAllCancelled parks what cancelled replays made pending.
func (s *Replays) ParkAllCancelled(ctx context.Context) error { return s.parkAllCancelled(ctx) }

// LimitCounts sets what one count may take.
func (s *Replays) LimitCounts(time time.Duration, cost uint64) { s.limits = countLimits{time, cost} }

// FailParked fails what was parked for too long.
func (m *Maintenance) FailParked(ctx context.Context) error { return m.failParked(ctx) }
