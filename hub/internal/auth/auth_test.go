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

func TestReplicasMakeOneFirstOperator(t *testing.T) {
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
	made := 0
	for range cap(results) {
		if <-results {
			made++
		}
	}
	require.Equal(t, 1, made)
	list, err := s.List(ctx, nil, 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
}
