package main_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"integrationhub/hub/hubtest"
)

// promQLExpressions returns the expressions of the dashboard and the alerts, by place.
func promQLExpressions(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	var dashboard struct {
		Templating struct {
			List []struct {
				Name, Type string
				Query      any
			}
		}
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "configs/grafana/hub.json")), &dashboard))
	for _, panel := range dashboard.Panels {
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			found["panel "+panel.Title] += target.Expr + "\n"
		}
	}
	for _, variable := range dashboard.Templating.List {
		if query, ok := variable.Query.(map[string]any); ok {
			found["variable "+variable.Name] = query["query"].(string)
		}
	}
	var alerts struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "configs/prometheus/alerts.yml")), &alerts))
	for _, group := range alerts.Groups {
		for _, rule := range group.Rules {
			require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
			found["alert "+rule.Alert] = rule.Expr
		}
	}
	return found
}

var (
	metricName = regexp.MustCompile(`\b(?:hub|process|go)_[a-z_]+`)
	matchers   = regexp.MustCompile(`((?:hub|process|go)_[a-z_]+)\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`([a-z_]+)(=|!=|=~|!~)"([^"]*)"`)
	grouping   = regexp.MustCompile(`\b(?:by|on) \(([a-z_, ]+)\)`)
)

// What the dashboard shows and the alerts watch is what a running hub serves: every
// metric, every label, and every value of a label that is asked for.
func TestWatchedMetricsAreServed(t *testing.T) {
	t.Parallel()
	p := newTenant(t).withKey()
	working, failing, gone := newReceiver(t, 200, ""), newReceiver(t, 500, ""), newReceiver(t, 410, "")
	p.subscribe(working.URL, "--events", "good")
	p.subscribe(failing.URL, "--events", "bad")
	p.subscribe(gone.URL, "--events", "gone")
	authority, c := hubtest.NewAuthority(t), newCLI(t)
	chain, key := authority.Issue("hub", time.Now().Add(time.Hour))
	p.subscribe(newMTLSReceiver(t, authority).url, "--events", "secured", "--client-certificate", c.writeFile("hub.pem", chain), "--client-key", c.writeFile("hub.key", key))
	p.publish("good")
	p.publish("gone")
	p.publish("bad")
	hosting := newProductHub(t) // this binary runs no product
	hosting.run("link", "notes/Acme", "board/Acme").requireOK()
	watched := promQLExpressions(t)
	require.Greater(t, len(watched), 20)
	var missing []string
	served := func() bool { // what waits is counted every ten seconds
		_, text := p.hub.call(t, "GET", "/metrics", "")
		text += hosting.get("/metrics")
		missing = nil
		for where, expr := range watched {
			for _, name := range metricName.FindAllString(expr, -1) {
				if !strings.Contains(text, "\n"+name+" ") && !strings.Contains(text, "\n"+name+"{") {
					missing = append(missing, where+": "+name)
				}
			}
			for _, m := range matchers.FindAllStringSubmatch(expr, -1) {
				for _, label := range matcher.FindAllStringSubmatch(m[2], -1) {
					want := m[1] + `\{[^}]*` + label[1] + `="`
					if label[2] == "=" || label[2] == "!=" {
						want += regexp.QuoteMeta(label[3]) + `"`
					}
					if label[1] != "job" && !regexp.MustCompile(want).MatchString(text) { // Prometheus adds the job
						missing = append(missing, where+": "+m[0])
					}
				}
			}
			for _, labels := range grouping.FindAllStringSubmatch(expr, -1) {
				for label := range strings.SplitSeq(labels[1], ",") {
					if label = strings.TrimSpace(label); label != "instance" && !strings.Contains(text, label+`="`) {
						missing = append(missing, where+": by "+label)
					}
				}
			}
		}
		slices.Sort(missing)
		return len(missing) == 0
	}
	for end := time.Now().Add(waitTimeout); !served() && time.Now().Before(end); {
		<-time.After(20 * pollInterval)
	}
	require.Empty(t, missing, "watched and not served")
}
