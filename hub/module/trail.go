package module

import "context"

// Trail gathers for the audit log whom a request turns out to be about. The hub puts one
// into the context of every request to a product's operations.
type Trail struct {
	subject string
	several bool
	wanted  bool
	reads   bool
}

type trailKey struct{}

// WithTrail returns a context that carries a new trail.
func WithTrail(ctx context.Context) (context.Context, *Trail) {
	t := &Trail{}
	return context.WithValue(ctx, trailKey{}, t), t
}

// Subject is the person that the request was about; "" where it was nobody, or several.
func (t *Trail) Subject() string {
	if t.several {
		return ""
	}
	return t.subject
}

// Wanted tells whether the request is to be on record, even where it only reads.
func (t *Trail) Wanted() bool { return t.wanted }

// Reads tells whether the request was noted to only read, whatever its method.
func (t *Trail) Reads() bool { return t.reads }

// Concerns notes that the request under way is about a person, such as a patient, by the
// product's id: the audit log has it with that person, also where it only reads, and
// where it cannot be written the caller of a read gets nothing. Several persons are
// nobody in particular. Outside of a request it does nothing.
func Concerns(ctx context.Context, subjectID string) {
	if t, ok := ctx.Value(trailKey{}).(*Trail); ok {
		t.several = t.several || t.subject != "" && t.subject != subjectID
		t.subject, t.wanted = subjectID, true
	}
}

// OnRecord has the request under way put on record as one that only reads, also where it
// is about nobody in particular: where that cannot be written, its caller gets nothing,
// whatever the method.
func OnRecord(ctx context.Context) {
	if t, ok := ctx.Value(trailKey{}).(*Trail); ok {
		t.wanted, t.reads = true, true
	}
}

// ConcernOf is the person that the request under way was noted to be about so far, or "".
func ConcernOf(ctx context.Context) string {
	if t, ok := ctx.Value(trailKey{}).(*Trail); ok {
		return t.Subject()
	}
	return ""
}
