package keys_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/keys"
)

// A key made by hand: its checksum is CRC-32 in base62, computed elsewhere.
const (
	vector    = "sch_live_0123456789ABCDEFGHIJKLMNOPQRST"
	vectorSum = "1VopcD"
)

func TestKeyForm(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		key := keys.New("sch", hub.Live)
		require.Regexp(t, `^sch_live_[0-9A-Za-z]{36}$`, key)
		require.NoError(t, keys.Check(key))
		require.Equal(t, hub.Live, keys.Environment(key))
		require.False(t, seen[key])
		seen[key] = true
	}
	key := keys.New("a1", hub.Test)
	require.Equal(t, hub.Test, keys.Environment(key))
	require.Equal(t, key[len(key)-4:], keys.Last4(key))
	require.Len(t, keys.Hash(key), 32)
}

func TestChecksumVector(t *testing.T) {
	t.Parallel()
	require.NoError(t, keys.Check(vector+vectorSum))
}

func TestEveryTypoIsSeen(t *testing.T) {
	t.Parallel()
	key := keys.New("sch", hub.Live)
	for i := range key {
		for _, c := range []byte("aZ09_-") {
			if key[i] == c {
				continue
			}
			require.ErrorIs(t, keys.Check(key[:i]+string(c)+key[i+1:]), hub.ErrUnauthorized, "%d %c", i, c)
		}
		if i > 0 && key[i] != key[i-1] {
			require.Error(t, keys.Check(key[:i-1]+string(key[i])+string(key[i-1])+key[i+1:]), "swapped at %d", i)
		}
	}
	for _, bad := range []string{"", "sch", "sch_live_", key + "0", key[:len(key)-1], strings.ToUpper(key), " " + key, key + "\n", "_live_" + key[9:], "sch_prod_" + key[9:], strings.Repeat("a", 11) + key[3:], "1ch" + key[3:]} {
		require.Error(t, keys.Check(bad), bad)
		require.Empty(t, keys.Environment(bad), bad)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(vector + vectorSum)
	f.Add("x_test_")
	f.Add("")
	f.Fuzz(func(t *testing.T, plain string) {
		if keys.Check(plain) == nil {
			require.Regexp(t, `^[a-z][a-z0-9]{0,9}_(live|test)_[0-9A-Za-z]{36}$`, plain)
		}
	})
}

func TestAllows(t *testing.T) {
	t.Parallel()
	require.True(t, keys.Allows([]string{"*"}, keys.ScopePublish))
	require.True(t, keys.Allows([]string{keys.ScopePublish}, keys.ScopePublish))
	require.True(t, keys.Allows(nil, ""))
	require.False(t, keys.Allows([]string{keys.ScopePublish}, keys.ScopeEndpoints))
	require.False(t, keys.Allows(nil, keys.ScopeEndpoints))
	for _, scope := range []string{keys.ScopeReadLog, keys.ScopeRetry} {
		require.False(t, keys.Allows([]string{"*"}, scope), "keys without a list were made before the log was open to keys")
		require.True(t, keys.Allows([]string{scope}, scope))
		require.True(t, keys.Allows([]string{"*", scope}, scope))
	}
	require.False(t, keys.Allows([]string{keys.ScopeReadLog}, keys.ScopeRetry))
	require.False(t, keys.Allows([]string{keys.ScopeRetry}, keys.ScopeReadLog))
}
