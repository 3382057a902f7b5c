package main_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// tenantCLI is a product and a tenant of one test, and a command line with the operator's
// credentials.
type tenantCLI struct {
	*cli
	hub      *hubProcess
	product  string
	tenant   string // name
	tenantID string
}

var tenantNumber atomic.Int64

// newTenant makes a product and a tenant in the shared hub.
func newTenant(t *testing.T) *tenantCLI {
	t.Helper()
	s := sharedHub(t)
	return s.newTenant(newCLI(t).withEnv("HUB_DATA_DIR", s.dataDir))
}

func (s *hubProcess) newTenant(c *cli) *tenantCLI {
	c.t.Helper()
	n := tenantNumber.Add(1)
	p := &tenantCLI{cli: c, hub: s, product: fmt.Sprintf("p%d", n), tenant: fmt.Sprintf("Tenant %d", n)}
	c.run("products", "create", p.product, "--prefix", p.product).requireOK()
	p.tenantID = c.run("tenants", "create", p.tenant, "--product", p.product, "-q").requireOK()
	return p
}

// withKey returns a copy with an API key of the tenant, without a limit, in HUB_KEY.
func (p *tenantCLI) withKey() *tenantCLI {
	p.t.Helper()
	key := p.run("keys", "create", "--tenant", p.tenantID, "--rate", "0", "-q").requireOK()
	other := *p
	other.cli = p.withEnv("HUB_KEY", key)
	return &other
}

// subscribe makes an endpoint and returns its id.
func (p *tenantCLI) subscribe(url string, flags ...string) string {
	p.t.Helper()
	var made struct {
		ID string `json:"id"`
	}
	p.run(append([]string{"endpoints", "create", url, "--tenant", p.tenantID, "-o", "json"}, flags...)...).decode(&made)
	return made.ID
}

// publish sends an event and returns its id.
func (p *tenantCLI) publish(eventType string, flags ...string) string {
	p.t.Helper()
	return p.run(append([]string{"publish", "--type", eventType}, flags...)...).requireOK()
}

// publishBatch publishes n events of a type.
func (p *tenantCLI) publishBatch(n int, eventType string) {
	p.t.Helper()
	p.runIn(strings.Repeat(fmt.Sprintf(`{"event_type":%q,"data":{}}`+"\n", eventType), n), "publish", "--batch", "-").requireOK()
}

// awaitSettled waits until count deliveries of the tenant have a status, and none is
// pending.
func (p *tenantCLI) awaitSettled(count int, status string) {
	p.t.Helper()
	pool := p.hub.pool(p.t)
	numbers := map[string]int{"delivered": 1, "parked": 2}
	require.Eventually(p.t, func() bool {
		var there, pending int
		err := pool.QueryRow(context.Background(), `
			select count(*) filter (where status = $2), count(*) filter (where status = 0)
			from hub.deliveries where tenant_id = $1 and not exists (select from hub.leases)`, p.tenantID, numbers[status]).Scan(&there, &pending)
		return err == nil && there == count && pending == 0
	}, waitTimeout, pollInterval, "%d deliveries %s", count, status)
}
