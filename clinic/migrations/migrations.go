// Package migrations holds the SQL of schema `clinic`, as goose files.
// Migrations only go forward. Every row of a tenant carries its clinic_id and, where it is not about accounts, its env; it is
// keyed by both, so that no row points into another clinic, or from live into test.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed *.sql
var files embed.FS

// FS is the tree of goose files. The schema `clinic` has to exist before they
// are applied.
func FS() fs.FS { return files }
