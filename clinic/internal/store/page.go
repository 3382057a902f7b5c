package store

// Page selects a part of a list.
type Page struct {
	Limit  int
	Offset int
}
