package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the console's overview, map and health screens read.
func TestOperatorsSeeTheState(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	good, parking := newHook(t, nil), newHook(t, nil)
	empty := a.ok(200, "GET", "/stats/backlog", "")
	require.Equal(t, map[string]any{"pending": 0.0, "parked": 0.0, "oldest_pending_at": nil}, empty)
	require.Empty(t, items(a.ok(200, "GET", "/stats/receivers", "")))

	taking, disabled := a.endpoint(good, ""), a.endpoint(parking, `"enabled":false`)
	good.waitAll(a.batch(3, "a.b"))
	require.Eventually(t, func() bool { return a.ok(200, "GET", "/stats/backlog", "")["parked"] == 3.0 }, soon, tick)
	receivers := map[string]map[string]any{}
	read := func() bool {
		for _, receiver := range items(a.ok(200, "GET", "/stats/receivers", "")) {
			receivers[receiver["receiver_id"].(string)] = receiver
		}
		return receivers[taking]["attempts"] == 3.0
	}
	require.Eventually(t, read, soon, tick)
	require.Eventually(t, func() bool {
		var deltas int
		require.NoError(t, p.pool.QueryRow(t.Context(), `select count(*) from hub.rollup_deltas`).Scan(&deltas))
		return deltas == 0
	}, soon, tick)
	require.True(t, read(), "nothing is counted twice when it is rolled up: %v", receivers[taking])
	require.Zero(t, receivers[taking]["errors"])
	require.Len(t, receivers[taking]["attempts_by_hour"], 24)
	var byHour float64
	for _, attempts := range receivers[taking]["attempts_by_hour"].([]any) {
		byHour += attempts.(float64)
	}
	require.Equal(t, 3, int(byHour))
	require.Equal(t, a.tenant, receivers[taking]["tenant_id"])
	require.Equal(t, []any{0.0, 3.0}, []any{receivers[disabled]["attempts"], receivers[disabled]["failed"]}, "parked without an attempt")

	require.Eventually(t, func() bool { return a.check("sweep")["status"] == "ok" }, soon, tick)
	for _, name := range []string{"clock", "migrations", "partitions", "backlog", "redis"} {
		require.Equal(t, "ok", a.check(name)["status"], "%v", a.check(name))
	}
	for _, name := range []string{"database", "connections", "disk", "egress"} { // these depend on the machine
		require.NotEmpty(t, a.check(name)["detail"])
	}
	_, err := time.Parse(time.RFC3339, a.ok(200, "GET", "/api/v1/health", "")["now"].(string))
	require.NoError(t, err)
	a.refused(401, "unauthorized", "GET", "/api/v1/health", "", "")
}

// check examines the installation and returns one check.
func (a *account) check(name string) map[string]any {
	a.t.Helper()
	for _, found := range a.ok(200, "GET", "/api/v1/health", "")["checks"].([]any) {
		if check := found.(map[string]any); check["check"] == name {
			return check
		}
	}
	return nil
}
