package embedded

import (
	"os/exec"
	"syscall"
)

// usernsAttr runs a program in a user namespace where our uid 0 is called uid.
func usernsAttr(uid, gid uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: int(uid), HostID: 0, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: int(gid), HostID: 0, Size: 1}},
	}
}

// works tells whether the kernel lets us have a user namespace: containers
// often forbid it, and only trying shows.
func (id identity) works() bool {
	path, err := exec.LookPath("true")
	if err != nil {
		return false
	}
	cmd := exec.Command(path)
	cmd.SysProcAttr = id.attr()
	return cmd.Run() == nil
}
