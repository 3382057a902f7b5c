package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Set by the linker: -ldflags "-X main.version=v1.2.3 -X main.commit=…".
var (
	version string
	commit  string
)

// buildFacts describe the build.
type buildFacts struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func readBuild() buildFacts {
	facts := buildFacts{Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if ok && facts.Version == "" && info.Main.Version != "(devel)" {
		facts.Version = info.Main.Version
	}
	if ok && facts.Commit == "" {
		modified := ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				facts.Commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = "+changes"
			}
		}
		if facts.Commit != "" {
			facts.Commit += modified
		}
	}
	if facts.Version == "" {
		facts.Version = "dev"
	}
	return facts
}

func versionName() string { return readBuild().Version }

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print what this binary was built from",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			facts := readBuild()
			switch {
			case a.json():
				return a.printValue(facts)
			case a.quiet || facts.Commit == "":
				a.print("hub %s %s %s/%s", facts.Version, facts.Go, facts.OS, facts.Arch)
			default:
				a.print("hub %s (%s) %s %s/%s", facts.Version, facts.Commit, facts.Go, facts.OS, facts.Arch)
			}
			return nil
		},
	}
}
