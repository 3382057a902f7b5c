// Package migrations holds the SQL of schema `messaging`, as goose files. Migrations only
// go forward. Every row of a tenant carries its company_id and is keyed by it together with
// its own id, so that no row points into another company.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed *.sql
var files embed.FS

// FS returns the tree of goose files. The schema `messaging` has to exist before they are
// applied.
func FS() fs.FS { return files }
