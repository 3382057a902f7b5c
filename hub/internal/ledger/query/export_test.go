package query

// Hasty returns a reader with the smallest effort, so that every way of reading the
// log is walked with few rows: it looks at hardly any row in hope of a page, takes no
// day for small and two targets for many.
func (r *Reader) Hasty() *Reader {
	return &Reader{pool: r.pool, effort: effort{newest: 7, driven: 3, dense: 5, fewTargets: 1, manyTargets: 5}}
}
