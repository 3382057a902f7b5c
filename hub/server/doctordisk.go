package server

import (
	"fmt"
	"net/url"

	"integrationhub/hub/config"
)

// What a disk has free at least, in bytes. PostgreSQL needs some files of 16 MiB to write at
// all, and a day of a busy log is a gigabyte.
const (
	enoughSpace  = 2 << 30
	minimalSpace = 256 << 20
)

// checkDisks checks the disks of the data directory and of a directory for uploads elsewhere.
// The disk of another machine's PostgreSQL cannot be seen from here.
func checkDisks(cfg config.Config, report func(Finding)) {
	report(diskFinding("the data directory", cfg.DataDir))
	if uploads, err := url.Parse(cfg.BlobURL); err == nil && uploads.Scheme == "file" {
		report(diskFinding("the directory for uploads", uploads.Path))
	}
}

// diskFinding judges the disk that a directory is on.
func diskFinding(what, dir string) Finding {
	free, total, err := diskSpace(dir)
	if err != nil {
		return Finding{"disk", FindingWarning, fmt.Sprintf("reading the free space of %s failed: %v", what, err), ""}
	}
	return spaceFinding(what, free, total)
}

// spaceFinding judges the free space of a disk, in bytes.
func spaceFinding(what string, free, total uint64) Finding {
	detail := fmt.Sprintf("%s of %s free on the disk of %s", formatBytes(free), formatBytes(total), what)
	switch {
	case free < minimalSpace:
		return Finding{"disk", FindingFailed, detail, "free space now: on a full disk nothing can be accepted, and publishing responds with 503"}
	case free < enoughSpace:
		return Finding{"disk", FindingWarning, detail, "free space, or keep less of the log (HUB_RETENTION)"}
	}
	return Finding{"disk", FindingOK, detail, ""}
}

// formatBytes returns a size for people: "512 MiB", "1.5 GiB".
func formatBytes(n uint64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
