//go:build !failpoint

// Package failpoint lets a test build end or stop the process at a named instruction, to
// show that nothing accepted is lost there and that others go on. In an ordinary build it is
// empty and costs nothing.
package failpoint

// Here marks a named place.
func Here(string) {}
