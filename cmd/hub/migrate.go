package main

import (
	"errors"

	"github.com/spf13/cobra"

	"integrationhub/hub/config"
	"integrationhub/hub/server"
)

func newMigrate(a *app) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schemas to this version",
		Long: `Bring the schemas of HUB_DATABASE_URL to this binary's version: the hub's own, and one
for each product that HUB_PRODUCTS has run here. "hub serve" does it by itself at every
start; this is for those who want it as a step of its own. Migrations only go forward
and are safe while hubs of the version before are running.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadConfig(cmd)
			if err != nil {
				return err
			}
			if cfg.DatabaseURL == "" {
				return &failure{code: exitConfig, err: errors.New("HUB_DATABASE_URL is not set"), hint: "the private PostgreSQL is migrated by: hub serve"}
			}
			if check {
				return a.checkMigrations(cmd, cfg)
			}
			applied, err := server.Migrate(cmd.Context(), cfg, modules())
			for _, name := range applied {
				a.print("applied %s", name)
			}
			if err == nil && len(applied) == 0 {
				a.note("the schema is up to date")
			}
			return err
		},
	}
	settingFlags(cmd)
	cmd.Flags().BoolVar(&check, "check", false, "change nothing; exit 3 when migrations are missing")
	return cmd
}

func (a *app) checkMigrations(cmd *cobra.Command, cfg config.Config) error {
	schemas, err := server.Schemas(cmd.Context(), cfg, cfg.DatabaseURL.Reveal(), modules())
	if err != nil {
		return err
	}
	old := false
	for i, schema := range schemas {
		name := ""
		if i > 0 { // the first is the hub's own
			name = " " + schema.Name
		}
		a.print("schema%s at version %d, this hub needs %d", name, schema.Current, schema.Target)
		old = old || schema.Current != schema.Target
	}
	if old {
		return &failure{code: exitConfig, err: errors.New("the schema is not at this hub's version"), hint: "run: hub migrate"}
	}
	return nil
}
