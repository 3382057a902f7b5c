//go:build !race

package directory

// raceFactor is how much slower the race detector makes code, about.
const raceFactor = 1
