//go:build unix && !linux

package embedded

import "syscall"

// attr makes a program run as this identity; namespaces and capabilities are
// Linux's, so elsewhere their modes are setuid again.
func (id identity) attr() *syscall.SysProcAttr {
	if id.mode == modeUser {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id.uid, Gid: id.gid, Groups: []uint32{}}}
}
