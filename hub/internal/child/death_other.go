//go:build unix && !linux

package child

import "syscall"

// setDeathSignal does nothing: only Linux ends a child with its parent.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
