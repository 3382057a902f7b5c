//go:build unix && !linux

package embedded

import "syscall"

func usernsAttr(_, _ uint32) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// works is false: only Linux has user namespaces.
func (id identity) works() bool { return false }
