//go:build unix

package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"integrationhub/hub/internal/ownership"
)

// identity is who the server programs run as: PostgreSQL refuses uid 0.
type identity struct {
	mode     string
	uid, gid uint32 // who the server believes it is; unused in modeUser
}

// The ways to run, best first.
const (
	// We are not root: as we are.
	modeUser = "user"
	// Root, seen by the server as an unprivileged user of a user namespace. The
	// files stay root's. Containers often forbid it.
	modeUserns = "userns"
	// Another user: the one whose the directory is, or else one to whom the files are
	// handed. It may be unable to reach them: root's home and temporary directories are
	// closed.
	modeSetuid = "setuid"
	// The same with the right to enter every directory, so that it can. With
	// CAP_DAC_READ_SEARCH, or CAP_DAC_OVERRIDE where a container lacks that.
	modeSearch   = "setuid+search"
	modeOverride = "setuid+override"
)

// chooseIdentity picks the first way in which the server can reach both its
// data and its programs in bin. The parent of cfg.Dir exists.
func chooseIdentity(cfg PostgresConfig, bin string) (identity, error) {
	if os.Geteuid() != 0 {
		return identity{mode: modeUser}, nil
	}
	id := identity{}
	modes := []string{modeUserns, modeSetuid, modeSearch, modeOverride}
	uid, gid, owned := normalOwner(cfg.Dir)
	if owned {
		id.uid, id.gid, modes = uid, gid, modes[1:]
	} else {
		id.uid, id.gid = serviceUser()
	}
	parent := filepath.Dir(cfg.Dir)
	for _, id.mode = range modes {
		if cfg.modes != nil && !slices.Contains(cfg.modes, id.mode) {
			continue
		}
		if id.reaches(parent) && id.canRun(bin) {
			return id, nil
		}
	}
	closed := closedDir(bin)
	if closed == "" {
		closed = closedDir(parent)
	}
	if closed == "" {
		return identity{}, errors.New("choosing a user for PostgreSQL, which refuses root: " +
			"this system lets root become nobody else; run the hub as a normal user")
	}
	return identity{}, fmt.Errorf("choosing a user for PostgreSQL, which refuses root: no other user can enter %s; "+
		"run the hub as a normal user, choose another place, or chmod o+x %s", closed, closed)
}

// normalOwner returns the user, other than root, whose the data is: the owner of the
// directory that dir is in, or else of the cluster. Root must leave it to this user, who
// could not start the hub again otherwise.
func normalOwner(dir string) (uid, gid uint32, found bool) {
	for _, path := range []string{filepath.Dir(dir), filepath.Join(dir, "cluster")} {
		if uid, gid, ok := ownership.Of(path); ok && uid != 0 {
			return uid, gid, true
		}
	}
	return 0, 0, false
}

// reaches tries whether a program can run this way and enter dir. Only trying
// shows: namespaces, capabilities and access lists all have a say.
func (id identity) reaches(dir string) bool {
	// Not cmd.Dir: that is entered before the capabilities take effect.
	cmd := exec.Command("/bin/sh", "-c", `cd -- "$1"`, "sh", dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = id.sysProcAttr()
	return cmd.Run() == nil
}

// canRun reports whether the programs in bin can run this way. PostgreSQL asks
// access(2) about its own program, which does not look at capabilities.
func (id identity) canRun(bin string) bool {
	if id.mode == modeSearch || id.mode == modeOverride {
		return closedDir(bin) == ""
	}
	return id.reaches(bin)
}

// closedDir is the first directory from dir upwards that others may not enter; "" = none.
func closedDir(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
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

// owner is the user whose the server's files are.
func (id identity) owner() uint32 {
	switch id.mode {
	case modeUser, modeUserns: // ours, where we may be root
		return uint32(os.Geteuid())
	default:
		return id.uid
	}
}

// chown makes this identity the owner of path. If deep, it includes everything below,
// but only if path itself has another owner (after a change of mode), because walking a
// large cluster would slow every start.
func (id identity) chown(path string, deep bool) error {
	if id.mode == modeUser {
		return nil
	}
	uid, gid := id.owner(), uint32(0)
	if id.mode != modeUserns {
		gid = id.gid
	}
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
			return os.Lchown(p, int(uid), int(gid)) //nolint:gosec // our own directory, closed to others
		})
		if err != nil {
			return err
		}
	}
	// Last: a walk that was cut short is then repeated by the next start.
	return os.Lchown(path, int(uid), int(gid))
}
