package store

import "integrationhub/clinic/internal/care"

// FoldName returns a name in lower case without accents, like the column name_search.
func FoldName(name string) string { return care.FoldName(name) }
