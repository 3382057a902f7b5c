package store

// MovedColumns returns the columns whose rows a merge moves, as table.column.
func MovedColumns() (names []string) {
	for _, column := range patientColumns {
		names = append(names, column.name())
	}
	return names
}
