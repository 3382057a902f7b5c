package child

import "syscall"

func setDeathSignal(attr *syscall.SysProcAttr, death syscall.Signal) { attr.Pdeathsig = death }
