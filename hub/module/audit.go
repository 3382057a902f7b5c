package module

import "context"

// AuditTrail collects the audit log's details of a request. The hub adds one to the
// context of every request to a product's operations.
type AuditTrail struct {
	subject          string
	multipleSubjects bool
	required         bool
	readOnly         bool
	accessToken      string
}

type auditTrailKey struct{}

// WithAuditTrail returns a context with a new trail.
func WithAuditTrail(ctx context.Context) (context.Context, *AuditTrail) {
	t := &AuditTrail{}
	return context.WithValue(ctx, auditTrailKey{}, t), t
}

// Subject returns the id of the person the request is about, or "" for none or several.
func (t *AuditTrail) Subject() string {
	if t.multipleSubjects {
		return ""
	}
	return t.subject
}

// Required reports whether the request has to be recorded even if it only reads.
func (t *AuditTrail) Required() bool { return t.required }

// ReadOnly reports whether the request only reads, whatever its method.
func (t *AuditTrail) ReadOnly() bool { return t.readOnly }

// AccessToken returns the access token that the request made, or "".
func (t *AuditTrail) AccessToken() string { return t.accessToken }

// SetAccessToken says that the current request logs a user in, with a new access token. The
// request is then recorded in the audit log as that user's. Outside a request it does nothing.
func SetAccessToken(ctx context.Context, token string) {
	if t, ok := ctx.Value(auditTrailKey{}).(*AuditTrail); ok {
		t.accessToken = token
	}
}

// SetSubject sets the person that the current request is about, such as a patient, by
// the product's id. The request is then recorded in the audit log with that person, even
// if it only reads; a read fails if it cannot be recorded. A request about several
// persons is recorded without a subject. Outside a request it does nothing.
func SetSubject(ctx context.Context, subjectID string) {
	if t, ok := ctx.Value(auditTrailKey{}).(*AuditTrail); ok {
		t.multipleSubjects = t.multipleSubjects || t.subject != "" && t.subject != subjectID
		t.subject, t.required = subjectID, true
	}
}

// RequireAudit marks the current request as a read that has to be recorded, even
// without a subject. The request fails if it cannot be recorded, whatever its method.
func RequireAudit(ctx context.Context) {
	if t, ok := ctx.Value(auditTrailKey{}).(*AuditTrail); ok {
		t.required, t.readOnly = true, true
	}
}

// AuditSubject returns the subject of the current request so far, or "".
func AuditSubject(ctx context.Context) string {
	if t, ok := ctx.Value(auditTrailKey{}).(*AuditTrail); ok {
		return t.Subject()
	}
	return ""
}
