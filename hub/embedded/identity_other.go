//go:build unix && !linux

package embedded

import "syscall"

// sysProcAttr returns the attributes that make a program run as this identity. Namespaces and
// capabilities are Linux's: elsewhere their modes are setuid.
func (id identity) sysProcAttr() *syscall.SysProcAttr {
	if id.mode == modeUser {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id.uid, Gid: id.gid, Groups: []uint32{}}}
}
