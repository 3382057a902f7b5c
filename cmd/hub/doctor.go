package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"integrationhub/hub/server"
)

func newDoctor(a *app) *cobra.Command {
	var full bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine an installation: database, connections, schema, Redis, clock, egress, the log",
		Long: `Examine an installation and say what is wrong and what to do. It changes nothing. It
reads the settings as "hub serve" does; run it on the same machine, beside the running
hub. Exit code 3 when a check failed.

The log must have all that was accepted: accepted = delivered + parked + pending + failed,
an event for each delivery, and every attempt. The rows of today and yesterday (UTC) are
counted. Of earlier days the statistics are compared with what waits; --full counts all
their rows, a day at a time, which takes a while on a large log.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadConfig(cmd)
			if err != nil {
				return err
			}
			failed := 0
			var findings []server.Finding
			server.Doctor(cmd.Context(), cfg, modules(), full, func(f server.Finding) {
				findings = append(findings, f)
				if f.Status == server.FindingFailed {
					failed++
				}
				if !a.json() {
					a.printFinding(f)
				}
			})
			if err := cmd.Context().Err(); err != nil {
				return err // what failed then says nothing of the installation
			}
			if a.json() {
				if err := a.printValue(findings); err != nil {
					return err
				}
			}
			if failed > 0 {
				return &failure{code: exitConfig, err: fmt.Errorf("%s failed: see above what to do", countText(failed, "check"))}
			}
			return nil
		},
	}
	settingFlags(cmd)
	cmd.Flags().BoolVar(&full, "full", false, "count every row of the log, not only those of today and yesterday")
	return cmd
}

func (a *app) printFinding(f server.Finding) {
	mark := map[string]string{server.FindingOK: "ok", server.FindingWarning: "warning", server.FindingFailed: "FAILED"}[f.Status]
	a.print("%-11s %-8s %s", f.Check, mark, f.Detail)
	if f.Advice != "" {
		a.print("%-11s %-8s → %s", "", "", f.Advice)
	}
}
