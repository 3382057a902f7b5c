package write

import (
	"slices"

	"github.com/google/uuid"

	"integrationhub/hub/internal/delivery"
)

// splitRepeated divides a batch into the first attempt of each delivery and all others. A
// delivery has several where its lease ended before its attempt was stored.
func (w *Writer) splitRepeated(batch []delivery.AttemptResult) (first, repeated []delivery.AttemptResult) {
	if w.seen == nil {
		w.seen = make(map[uuid.UUID]struct{}, maxAttempts)
	}
	clear(w.seen)
	first = batch
	for i := range batch {
		a := &batch[i]
		_, isRepeated := w.seen[a.ID]
		w.seen[a.ID] = struct{}{}
		switch {
		case isRepeated && repeated == nil:
			first, repeated = slices.Clone(batch[:i]), []delivery.AttemptResult{*a}
		case isRepeated:
			repeated = append(repeated, *a)
		case repeated != nil:
			first = append(first, *a)
		}
	}
	return first, repeated
}
