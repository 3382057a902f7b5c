package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestPointsExpireByJob(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "points_expiration_days": 10})
	pay := func(amount int) {
		org.OK(201, "POST", "/payments", object{"client_id": org.ClientID, "amount": amount, "method": "cash"})
	}
	pay(100)
	org.AdvanceClock(5 * 24 * time.Hour)
	pay(30)
	org.RunJob("loyalty")
	require.EqualValues(t, 130, org.LoyaltyAccount(org.ClientID)["balance"])
	org.AdvanceClock(6 * 24 * time.Hour) // the eleventh day after the first
	for range 2 {
		org.RunJob("loyalty")
		points := org.LoyaltyAccount(org.ClientID)
		require.EqualValues(t, 30, points["balance"])
		last := points["history"].(object)["items"].([]any)[0].(object)
		require.Equal(t, "expire", last["type"])
		require.EqualValues(t, -100, last["points"])
	}
	org.AdvanceClock(5 * 24 * time.Hour)
	org.RunJob("loyalty")
	require.EqualValues(t, 0, org.LoyaltyAccount(org.ClientID)["balance"])
}

func TestBirthdays(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "birthday_bonus": 50})
	born := func(name, date string) string {
		return org.OK(201, "POST", "/clients", object{"name": name, "birth_date": date})["id"].(string)
	}
	today, leap, other := born("Ivo", "1990-02-28"), born("Lia", "1992-02-29"), born("Rui", "1990-03-01")
	org.RunJob("loyalty")
	require.EqualValues(t, 0, org.LoyaltyAccount(today)["balance"], "the 27th")
	org.AdvanceClock(15 * time.Hour) // midnight in São Paulo
	for range 3 {
		org.RunJob("loyalty")
	}
	require.EqualValues(t, 50, org.LoyaltyAccount(today)["balance"])
	require.EqualValues(t, 50, org.LoyaltyAccount(leap)["balance"], "there is no 29th this year")
	require.EqualValues(t, 0, org.LoyaltyAccount(other)["balance"])
	org.AdvanceClock(365 * 24 * time.Hour)
	org.RunJob("loyalty")
	require.EqualValues(t, 100, org.LoyaltyAccount(today)["balance"], "once a year")
}

// lockClient holds a client in a transaction until the test rolls it back.
func lockClient(org *schedulingtest.Bookable, client string) pgx.Tx {
	org.T.Helper()
	tx, err := org.Hub.Host.Pool.Begin(org.T.Context())
	require.NoError(org.T, err)
	org.T.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	_, err = tx.Exec(org.T.Context(), "select from scheduling.clients where org_id = $1 and id = $2 for update", org.ID, client)
	require.NoError(org.T, err)
	return tx
}

// waitForBlockedJob waits until a transaction waits for a row that [lockClient] holds.
func waitForBlockedJob(org *schedulingtest.Bookable) {
	org.T.Helper()
	require.Eventually(org.T, func() bool {
		return org.Count("pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database()") > 0
	}, 30*time.Second, 10*time.Millisecond)
}

// startJob runs the job for points in the background.
func startJob(ctx context.Context, org *schedulingtest.Bookable) (ended chan error) {
	ended = make(chan error, 1)
	go func() { ended <- org.Hub.Job("loyalty").Run(ctx, nil) }()
	return ended
}

// A run that had no time for all organizations has granted the points of birthdays, and the
// next run expires those of the others first.
func TestPointsOfEachOrganizationInTurn(t *testing.T) {
	t.Parallel()
	first := schedulingtest.NewBookableAlone(t)
	first.StopOwnRuns("loyalty")
	second := schedulingtest.RegisterOrganization(t, first.Hub).MakeBookable()
	require.Less(t, first.ID.String(), second.ID.String())
	for _, org := range []*schedulingtest.Bookable{first, second} {
		org.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "points_expiration_days": 10, "birthday_bonus": 50})
		org.OK(201, "POST", "/payments", object{"client_id": org.ClientID, "amount": 100, "method": "cash"})
	}
	first.AdvanceClock(11 * 24 * time.Hour)
	second.AdvanceClock(0)
	celebrated := second.OK(201, "POST", "/clients", object{"name": "Ivo", "birth_date": "1990-03-10"})["id"].(string)
	lockClient(first, first.ClientID)
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		ended := startJob(ctx, first)
		waitForBlockedJob(first)
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.EqualValues(t, 50, second.LoyaltyAccount(celebrated)["balance"])
	}
	require.EqualValues(t, 0, second.LoyaltyAccount(second.ClientID)["balance"])
	require.EqualValues(t, 100, first.LoyaltyAccount(first.ClientID)["balance"])
}

// A client whose old points are used up or expired is not locked again in every run.
func TestUsedPointsDoNotExpireAgain(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.StopOwnRuns("loyalty")
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "points_expiration_days": 10})
	for _, amount := range []int{100, 30} {
		org.OK(201, "POST", "/payments", object{"client_id": org.ClientID, "amount": amount, "method": "cash"})
		org.AdvanceClock(6 * 24 * time.Hour)
	}
	org.RunJob("loyalty")
	require.EqualValues(t, 30, org.LoyaltyAccount(org.ClientID)["balance"])
	lockClient(org, org.ClientID)
	ended := startJob(t.Context(), org)
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		require.Fail(t, "the job waits for the client")
	}
}

// A bonus that an organization removes during the run is not granted, and the run ends.
func TestBirthdayBonusRemovedDuringTheRun(t *testing.T) {
	t.Parallel()
	first := schedulingtest.NewBookableAlone(t)
	first.StopOwnRuns("loyalty")
	second := schedulingtest.RegisterOrganization(t, first.Hub).MakeBookable()
	clients := make([]string, 2)
	for i, org := range []*schedulingtest.Bookable{first, second} {
		org.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "birthday_bonus": 50})
		clients[i] = org.OK(201, "POST", "/clients", object{"name": "Ivo", "birth_date": "1990-02-27"})["id"].(string)
	}
	held := lockClient(first, clients[0])
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	ended := startJob(ctx, first)
	waitForBlockedJob(first)
	second.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "birthday_bonus": 0})
	require.NoError(t, held.Rollback(t.Context()))
	require.NoError(t, <-ended)
	require.EqualValues(t, 50, first.LoyaltyAccount(clients[0])["balance"])
	require.EqualValues(t, 0, second.LoyaltyAccount(clients[1])["balance"])
}
