package query

// Hasty returns a reader with the smallest effort, so that every way of reading the
// log is walked with few rows: it looks at hardly any row in hope of a page, takes no
// day for small and two targets for many.
func (r *Reader) Hasty() *Reader {
	return &Reader{pool: r.pool, limits: readLimits{newest: 7, perDriver: 3, perDenseDriver: 5, fewTargets: 1, manyTargets: 5}}
}
