package main

import (
	"errors"

	"github.com/spf13/cobra"

	"integrationhub/hub/server"
)

func newDoctor(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine an installation: database, schema, Redis, clock, egress, the sum of the log",
		Long: `Examine an installation and say what is wrong and what to do. It changes nothing. It
reads the settings as "hub serve" does; run it on the same machine, beside the running
hub. The sum accepted = delivered + parked + pending + failed is counted exactly, which
takes a while on a large log. Exit code 3 when a check failed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadConfig(cmd)
			if err != nil {
				return err
			}
			failed := 0
			var findings []server.Finding
			server.Doctor(cmd.Context(), cfg, modules(), func(f server.Finding) {
				findings = append(findings, f)
				if f.Status == server.FindingFailed {
					failed++
				}
				if !a.json() {
					a.showFinding(f)
				}
			})
			if a.json() {
				if err := a.printValue(findings); err != nil {
					return err
				}
			}
			if failed > 0 {
				return &failure{code: exitConfig, err: errors.New("the hub is not well: see above")}
			}
			return nil
		},
	}
	settingFlags(cmd)
	return cmd
}

func (a *app) showFinding(f server.Finding) {
	mark := map[string]string{server.FindingOK: "ok", server.FindingWarning: "warning", server.FindingFailed: "FAILED"}[f.Status]
	a.print("%-11s %-8s %s", f.Check, mark, f.Detail)
	if f.Advice != "" {
		a.print("%-11s %-8s → %s", "", "", f.Advice)
	}
}
