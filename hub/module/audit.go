package module

import "context"

// AuditTrail gathers for the audit log whom a request turns out to be about. The hub puts one
// into the context of every request to a product's operations.
type AuditTrail struct {
	subject string
	several bool
	wanted  bool
	reads   bool
}

type auditTrailKey struct{}

// WithAuditTrail returns a context that carries a new trail.
func WithAuditTrail(ctx context.Context) (context.Context, *AuditTrail) {
	t := &AuditTrail{}
	return context.WithValue(ctx, auditTrailKey{}, t), t
}

// Subject is the person that the request was about; "" where it was nobody, or several.
func (t *AuditTrail) Subject() string {
	if t.several {
		return ""
	}
	return t.subject
}

// Required tells whether the request is to be on record, even where it only reads.
func (t *AuditTrail) Required() bool { return t.wanted }

// ReadOnly tells whether the request was noted to only read, whatever its method.
func (t *AuditTrail) ReadOnly() bool { return t.reads }

// SetSubject notes that the request under way is about a person, such as a patient, by the
// product's id: the audit log has it with that person, also where it only reads, and
// where it cannot be written the caller of a read gets nothing. Several persons are
// nobody in particular. Outside of a request it does nothing.
func SetSubject(ctx context.Context, subjectID string) {
	if t, ok := ctx.Value(auditTrailKey{}).(*AuditTrail); ok {
		t.several = t.several || t.subject != "" && t.subject != subjectID
		t.subject, t.wanted = subjectID, true
	}
}

// RequireAudit has the request under way put on record as one that only reads, also where it
// is about nobody in particular: where that cannot be written, its caller gets nothing,
// whatever the method.
func RequireAudit(ctx context.Context) {
	if t, ok := ctx.Value(auditTrailKey{}).(*AuditTrail); ok {
		t.wanted, t.reads = true, true
	}
}

// AuditSubject is the person that the request under way was noted to be about so far, or "".
func AuditSubject(ctx context.Context) string {
	if t, ok := ctx.Value(auditTrailKey{}).(*AuditTrail); ok {
		return t.Subject()
	}
	return ""
}
