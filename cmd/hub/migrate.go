package main

import (
	"errors"

	"github.com/spf13/cobra"

	"integrationhub/hub/migrations"
)

func newMigrate(a *app) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema to this version",
		Long: `Bring the schema of HUB_DATABASE_URL to this binary's version. "hub serve" does it by
itself at every start; this is for those who want it as a step of its own. Migrations
only go forward and are safe while hubs of the version before are running.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadConfig(cmd)
			if err != nil {
				return err
			}
			if cfg.DatabaseURL == "" {
				return &failure{code: exitConfig, err: errors.New("HUB_DATABASE_URL is not set"), hint: "the private PostgreSQL is migrated by: hub serve"}
			}
			if check {
				return a.checkMigrations(cmd, cfg.DatabaseURL.Reveal())
			}
			applied, err := migrations.Up(cmd.Context(), cfg.DatabaseURL.Reveal())
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

func (a *app) checkMigrations(cmd *cobra.Command, url string) error {
	status, err := migrations.Check(cmd.Context(), url)
	if err != nil {
		return err
	}
	a.print("schema at version %d, this hub needs %d", status.Current, status.Target)
	if status.Current != status.Target {
		return &failure{code: exitConfig, err: errors.New("the schema is not at this hub's version"), hint: "run: hub migrate"}
	}
	return nil
}
