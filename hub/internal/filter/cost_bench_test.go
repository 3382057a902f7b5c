package filter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/filter"
)

// BenchmarkCost shows how long a unit of cost takes: the bounds of what a request's filters
// may cost are chosen by it.
func BenchmarkCost(b *testing.B) {
	data := fmt.Appendf(nil, `{"n":1,"list":[%s1],"text":"%s"}`, strings.Repeat("1,", 2500), strings.Repeat("a", 2000))
	for _, text := range []string{`event.data.n == 1 && event.type == "order.paid"`, `event.data.list.exists(x, x == 2)`, `event.data.list.all(x, event.data.list.all(y, x == y))`, `event.data.text.matches("^(a|aa)+b")`} {
		b.Run(text, func(b *testing.B) {
			f, cost := filter.New(text), uint64(0)
			event := filter.NewEvent(hub.Event{Type: "order.paid", Data: data})
			for b.Loop() {
				result, err := f.Evaluate(b.Context(), event)
				require.NoError(b, err)
				cost += result.Cost
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(cost), "ns/unit")
		})
	}
}
