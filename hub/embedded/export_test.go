//go:build unix

package embedded

// RootModes are the ways to run as root.
var RootModes = []string{modeUserns, modeSetuid, modeSearch, modeOverride}

// InMode is cfg on a machine that allows root only this way to run.
func (cfg PostgresConfig) InMode(mode string) PostgresConfig {
	cfg.modes = []string{mode}
	return cfg
}

// OnlySearch is cfg on a machine with nothing in the usual places.
func (cfg PostgresConfig) OnlySearch() PostgresConfig {
	cfg.usual = func() []string { return nil }
	return cfg
}

// IsNewCluster reports whether this start created the cluster.
func (p *Postgres) IsNewCluster() bool { return p.newCluster }

// Major is the server's major version, e.g. "17".
func (p *Postgres) Major() string { return p.major }
