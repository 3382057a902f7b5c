package auth_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/auth"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

func service(t *testing.T) *auth.Service {
	t.Helper()
	return auth.NewService(hubtest.Database(t), auth.Config{
		SigningKey: bytes.Repeat([]byte{1}, 32), AccessTTL: time.Minute, RefreshTTL: time.Hour, Now: time.Now,
	})
}

func TestFirstOperator(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := service(t)
	created, password, err := s.EnsureFirstOperator(ctx, "", "")
	require.NoError(t, err)
	require.True(t, created)
	require.Regexp(t, `^([2-9a-km-z]{5}-){3}[2-9a-km-z]{5}$`, password)
	session, err := s.Login(ctx, auth.DefaultEmail, password, "127.0.0.1")
	require.NoError(t, err)
	require.Equal(t, auth.RoleAdmin, session.Operator.Role)
	created, password, err = s.EnsureFirstOperator(ctx, "other@example.com", "")
	require.NoError(t, err)
	require.False(t, created)
	require.Empty(t, password)

	_, _, err = service(t).EnsureFirstOperator(ctx, "", "short")
	require.ErrorIs(t, err, hub.ErrInvalid)
}

func TestReplicasCreateOneFirstOperator(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := service(t)
	results := make(chan bool, 6)
	for range cap(results) {
		go func() {
			created, password, err := s.EnsureFirstOperator(ctx, "", "")
			results <- err == nil && created && password != ""
		}()
	}
	createdCount := 0
	for range cap(results) {
		if <-results {
			createdCount++
		}
	}
	require.Equal(t, 1, createdCount)
	list, err := s.List(ctx, nil, 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
}

// A login that is being renewed while a new password ends all logins ends with them.
func TestNoLoginOutlivesAPassword(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := hubtest.Database(t)
	s := auth.NewService(db, auth.Config{SigningKey: bytes.Repeat([]byte{1}, 32), AccessTTL: time.Minute, RefreshTTL: time.Hour, Now: time.Now})
	_, password, err := s.EnsureFirstOperator(ctx, "", "")
	require.NoError(t, err)
	first, err := s.Login(ctx, auth.DefaultEmail, password, "127.0.0.1")
	require.NoError(t, err)

	// The successor cannot be stored before the gate opens.
	blocker, err := db.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = blocker.Rollback(context.WithoutCancel(ctx)) }()
	for _, statement := range []string{
		`create function public.gate() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(4711); return new; end $$`,
		`create trigger gate before insert on hub.refresh_tokens for each row execute function public.gate()`,
	} {
		_, err = db.Exec(ctx, statement)
		require.NoError(t, err)
	}
	_, err = blocker.Exec(ctx, `select pg_advisory_xact_lock(4711)`)
	require.NoError(t, err)
	requireWaiting := func(n int) {
		require.Eventually(t, func() bool {
			var found int
			require.NoError(t, db.QueryRow(ctx, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&found))
			return found == n
		}, time.Minute, 5*time.Millisecond)
	}
	refreshed, updated := make(chan error, 1), make(chan error, 1)
	var successor auth.Session
	go func() {
		var err error
		successor, err = s.Refresh(ctx, first.RefreshToken)
		refreshed <- err
	}()
	requireWaiting(1)
	go func() {
		_, err := s.Update(ctx, first.Operator.ID, auth.Change{Email: auth.DefaultEmail, Name: "Admin", Role: auth.RoleAdmin, Password: "another long password"})
		updated <- err
	}()
	requireWaiting(2)
	require.NoError(t, blocker.Rollback(ctx))
	require.NoError(t, <-refreshed, "it came first")
	require.NoError(t, <-updated)
	_, err = s.Refresh(ctx, successor.RefreshToken)
	require.ErrorIs(t, err, hub.ErrUnauthorized)
	_, err = s.Verify(ctx, successor.AccessToken)
	require.ErrorIs(t, err, hub.ErrUnauthorized)
	_, err = s.Login(ctx, auth.DefaultEmail, "another long password", "127.0.0.1")
	require.NoError(t, err)
}
