package store

import (
	"context"

	"integrationhub/clinic/internal/store/dbgen"
)

// Export is a row of clinic.exports.
type Export = dbgen.Export

// ExportFile is a row of clinic.export_files: the resources of a type in an export.
type ExportFile = dbgen.ExportFile

// ShareExports lets no patient of the clinic be erased until the transaction ends. A batch
// of an export reads and writes with it.
func (t *Tx) ShareExports(ctx context.Context, scope Scope) error {
	_, err := t.Raw.Exec(ctx, "select pg_advisory_xact_lock_shared(hashtextextended($1, 0))", exportsLock(scope))
	return err
}

// LockExports waits for the batches of the clinic's exports and lets none begin until the
// transaction ends.
func (t *Tx) LockExports(ctx context.Context, scope Scope) error {
	_, err := t.Raw.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", exportsLock(scope))
	return err
}

func exportsLock(scope Scope) string {
	return "clinic.exports/" + scope.Clinic.String() + "/" + string(scope.Env)
}
