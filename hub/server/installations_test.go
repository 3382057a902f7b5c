package server_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// "Two installations on one Redis database take each other's alarms: queue names carry
// the installation's id." Limits and the live tail have names of their own too.
func TestInstallationsShareARedis(t *testing.T) {
	t.Parallel()
	redis := hubtest.Redis(t)
	first, second := placeAt(t, hubtest.DatabaseURL(t), redis.URL()), placeAt(t, hubtest.DatabaseURL(t), redis.URL())
	// Both databases are copies of one, as a rehearsal's is of the real one.
	installationID := `select id::text from hub.installation`
	var ids [2]string
	for i, p := range []place{first, second} {
		require.NoError(t, p.pool.QueryRow(t.Context(), installationID).Scan(&ids[i]))
	}
	require.Equal(t, ids[0], ids[1], "a copied database has the same id")
	queues := make(map[string]int)
	for _, p := range []place{first, second} {
		a := p.start(t, nil).account()
		h := newHook(t, deferringFirst())
		endpoint := a.endpoint(h, "")
		eventIDs := a.batch(5, "a.b")
		for _, id := range eventIDs {
			detail := a.settles(id, endpoint, "delivered")
			require.EqualValues(t, 1, detail["retries"])
		}
		for _, queue := range redis.Client(t).SMembers(context.Background(), "asynq:queues").Val() {
			require.True(t, strings.HasPrefix(queue, "deliveries:"+ids[0]), queue)
			queues[queue]++
		}
	}
	require.Len(t, queues, 2, "a queue each: %v", slices.Sorted(maps.Keys(queues)))
}
