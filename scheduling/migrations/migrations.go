// Package migrations holds the SQL of schema `scheduling`, as goose files.
// Migrations only go forward. Every row of a tenant carries its org_id and is
// keyed by it, so that no row can point into another organization.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed *.sql
var files embed.FS

// FS is the tree of goose files. The schema `scheduling` has to exist before they
// are applied.
func FS() fs.FS { return files }
