package embedded

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// sysProcAttr returns the attributes that make a program run as this identity.
func (id identity) sysProcAttr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{}
	switch id.mode {
	case modeUser:
		return attr
	case modeUserns:
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(id.uid), HostID: 0, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(id.gid), HostID: 0, Size: 1}}
		return attr
	case modeSearch:
		attr.AmbientCaps = []uintptr{unix.CAP_DAC_READ_SEARCH}
	case modeOverride:
		attr.AmbientCaps = []uintptr{unix.CAP_DAC_OVERRIDE}
	}
	attr.Credential = &syscall.Credential{Uid: id.uid, Gid: id.gid, Groups: []uint32{}}
	return attr
}
