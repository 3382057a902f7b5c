// Package report has the results of a run: what was measured, the goals, JSON and tables.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Report is the JSON form of a run.
type Report struct {
	At       time.Time         `json:"at"`
	Machine  map[string]string `json:"machine"`  // cores, versions
	Postgres map[string]string `json:"postgres"` // settings of every cluster
	Results  []*Result         `json:"results"`  // every round
	Verdicts []Verdict         `json:"verdicts"` // judged on the median round of each scenario

	Comparisons []Comparison `json:"comparisons,omitempty"` // with the version before
	LeftOut     []LeftOut    `json:"left_out,omitempty"`    // of the comparisons
}

// Save writes the report as indented JSON.
func Save(file string, report Report) error {
	raw, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := os.WriteFile(file, append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
