package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newStats(a *app) *cobra.Command {
	var in client.StatsQuery
	var from, to, tenant string
	cmd := &cobra.Command{
		Use:     "stats",
		Short:   "Show counts and latencies over time",
		Example: `  hub stats --from 24h --bucket 30m --product crm`,
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			if in.From, err = parseTime("--from", from, a.now()); err != nil {
				return err
			}
			if in.To, err = parseTime("--to", to, a.now()); err != nil {
				return err
			}
			if in.TenantID, err = tenantID(cmd.Context(), c, tenant, ""); err != nil {
				return err
			}
			reply, err := c.Stats(cmd.Context(), in)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printRaw(reply.Raw)
			}
			a.printStats(reply.Value)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "1h", "begin: 1h, 7d ago, 2026-01-31 or RFC 3339")
	flags.StringVar(&to, "to", "", "end, the same forms (default: now)")
	flags.StringVar(&in.Bucket, "bucket", "", "length of a step: 1m, 30m, 3h or 12h (default: 30m)")
	flags.StringVar(&in.Product, "product", "", "only of this product")
	flags.StringVar(&tenant, "tenant", "", "only of this tenant: id, name or external reference")
	flags.StringVar(&in.EndpointID, "endpoint", "", "only to this endpoint's id")
	flags.StringVar(&in.IntegrationID, "integration", "", "only of this integration's id")
	cmd.MarkFlagsMutuallyExclusive("endpoint", "integration")
	choices(cmd, "bucket", "1m", "30m", "3h", "12h")
	return cmd
}

func (a *app) printStats(s client.Stats) {
	rows := make([][]string, 0, len(s.Items)+1)
	var total client.StatsBucket
	for _, b := range s.Items {
		total.Accepted += b.Accepted
		total.Delivered += b.Delivered
		total.Failed += b.Failed
		total.Parked += b.Parked
		if b.Accepted+b.Delivered+b.Failed+b.Parked > 0 {
			rows = append(rows, statsRow(clock(b.At), b))
		}
	}
	rows = append(rows, statsRow("total", total))
	a.note("by steps of %s, empty ones left out", terminal.Printable(s.Bucket))
	a.table([]column{{title: "from"}, {title: "accepted", right: true}, {title: "delivered", right: true},
		{title: "failed", right: true}, {title: "parked", right: true},
		{title: "p50", right: true}, {title: "p95", right: true}, {title: "p99", right: true}}, rows)
}

func statsRow(title string, b client.StatsBucket) []string {
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	latency := func(ms *float64) string {
		if ms == nil {
			return "-"
		}
		return millis(*ms)
	}
	return []string{title, count(b.Accepted), count(b.Delivered), count(b.Failed), count(b.Parked),
		latency(b.P50MS), latency(b.P95MS), latency(b.P99MS)}
}
