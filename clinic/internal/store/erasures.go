package store

import "context"

// BlockErasures takes the clinic's erasure lock in shared mode: no patient is erased until the
// transaction ends. What it finds out about the erased from then on stays true.
func (t *Tx) BlockErasures(ctx context.Context, scope Scope) error {
	_, err := t.Raw.Exec(ctx, "select pg_advisory_xact_lock_shared(hashtextextended($1, 0))", erasuresLock(scope))
	return err
}

// LockForErasure takes the clinic's erasure lock in exclusive mode, until the transaction ends. It
// waits for those who block erasures. An erasure begins with it.
func (t *Tx) LockForErasure(ctx context.Context, scope Scope) error {
	_, err := t.Raw.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", erasuresLock(scope))
	return err
}

func erasuresLock(scope Scope) string {
	return "clinic.erasures/" + scope.Clinic.String() + "/" + string(scope.Env)
}
