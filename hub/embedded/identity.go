//go:build unix

package embedded

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// identity is who the server programs run as: PostgreSQL refuses uid 0.
type identity struct {
	// mode is "user" (we are not root), "userns" (root, seen by the server as an
	// unprivileged user of a user namespace; files stay root's) or "setuid"
	// (root where namespaces are forbidden; files are handed to that user).
	mode     string
	uid, gid uint32 // who the server believes it is; unused in mode "user"
}

// chooseIdentity picks the first user that can reach both the data and the programs.
func chooseIdentity(cfg PostgresConfig, bin string) (identity, error) {
	if os.Geteuid() != 0 {
		return identity{mode: "user"}, nil
	}
	uid, gid := serviceUser()
	candidates := []identity{{mode: "userns", uid: uid, gid: gid}, {mode: "setuid", uid: uid, gid: gid}}
	if cfg.noUserns || !candidates[0].works() {
		candidates = candidates[1:]
	}
	var closed string
	for _, id := range candidates {
		if closed = id.stoppedAt(filepath.Dir(cfg.Dir), bin); closed == "" {
			return id, nil
		}
	}
	// Root started inside someone's closed home: its owner can get there.
	if info, err := os.Stat(closed); err == nil {
		st, ok := info.Sys().(*syscall.Stat_t)
		if ok && st.Uid != 0 {
			id := identity{mode: "setuid", uid: st.Uid, gid: st.Gid}
			if id.stoppedAt(filepath.Dir(cfg.Dir), bin) == "" {
				return id, nil
			}
		}
	}
	return identity{}, fmt.Errorf("choosing a user for PostgreSQL, which refuses root: no other user can enter %s; "+
		"run the hub as a normal user, choose another place, or chmod o+x %s", closed, closed)
}

// files is the owner, as this process sees it, of what the server may touch.
func (id identity) files() (uid, gid uint32) {
	if id.mode == "setuid" {
		return id.uid, id.gid
	}
	return 0, 0
}

// stoppedAt is the first directory, from each of dirs upwards, that this
// identity may not enter; "" where there is none. Groups are not looked at: the
// server has none.
func (id identity) stoppedAt(dirs ...string) string {
	uid, _ := id.files()
	for _, dir := range dirs {
		for last := ""; dir != last; last, dir = dir, filepath.Dir(dir) {
			info, err := os.Stat(dir)
			if err != nil {
				continue // not there yet: it will be made
			}
			needed := fs.FileMode(0o001)
			if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid == uid {
				needed = 0o100
			}
			if info.Mode().Perm()&needed == 0 {
				return dir
			}
		}
	}
	return ""
}

// serviceUser is the user PostgreSQL's packages make, else nobody.
func serviceUser() (uid, gid uint32) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return uint32(uid), uint32(gid)
		}
	}
	return 65534, 65534
}

// attr makes a program run as this identity.
func (id identity) attr() *syscall.SysProcAttr {
	switch id.mode {
	case "userns":
		return usernsAttr(id.uid, id.gid)
	case "setuid":
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id.uid, Gid: id.gid, Groups: []uint32{}}}
	}
	return &syscall.SysProcAttr{}
}

// give makes path this identity's; deep = with everything below, looked at only
// where path itself has another owner (a hub that changed its mode), because
// walking a large cluster would slow every start.
func (id identity) give(path string, deep bool) error {
	if id.mode == "user" {
		return nil
	}
	uid, gid := id.files()
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	if st.Uid == uid {
		return nil
	}
	if deep {
		err := filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
			if err != nil || p == path {
				return err
			}
			return os.Lchown(p, int(uid), int(gid))
		})
		if err != nil {
			return err
		}
	}
	// Last: a walk that was cut short is then repeated by the next start.
	return os.Lchown(path, int(uid), int(gid))
}
