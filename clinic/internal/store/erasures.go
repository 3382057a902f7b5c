package store

import "context"

// ShareErasures lets no patient of the clinic be erased until the transaction ends. What it
// finds out about the erased from then on stays true.
func (t *Tx) ShareErasures(ctx context.Context, scope Scope) error {
	_, err := t.Raw.Exec(ctx, "select pg_advisory_xact_lock_shared(hashtextextended($1, 0))", erasuresLock(scope))
	return err
}

// LockErasures waits for those who share the clinic's erasures, and lets nobody share them until
// the transaction ends. An erasure begins with it.
func (t *Tx) LockErasures(ctx context.Context, scope Scope) error {
	_, err := t.Raw.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", erasuresLock(scope))
	return err
}

func erasuresLock(scope Scope) string {
	return "clinic.erasures/" + scope.Clinic.String() + "/" + string(scope.Env)
}
