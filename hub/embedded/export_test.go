//go:build unix

package embedded

// WithoutUserns is cfg in a container that forbids user namespaces.
func (cfg PostgresConfig) WithoutUserns() PostgresConfig {
	cfg.noUserns = true
	return cfg
}

// OnlySearch is cfg on a machine with nothing in the usual places.
func (cfg PostgresConfig) OnlySearch() PostgresConfig {
	cfg.usual = func() []string { return nil }
	return cfg
}
