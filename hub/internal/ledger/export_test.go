package ledger

import "context"

// Step handles one batch of one running replay.
func (s *Replays) Step(ctx context.Context) (more bool, err error) { return s.step(ctx) }

// Hasty gives a reader that looks at hardly any row in hope, takes no day for small
// and two targets for many: every way of reading is walked with few rows.
func (r *Reader) Hasty() *Reader {
	return &Reader{pool: r.pool, effort: effort{newest: 7, driven: 3, dense: 5, fewTargets: 1, manyTargets: 5}}
}
