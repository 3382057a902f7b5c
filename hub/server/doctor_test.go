package server

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
)

// PostgreSQL 15 is the oldest version that the hub supports; versions in development and of
// distributions count as what they are.
func TestDatabaseFinding(t *testing.T) {
	t.Parallel()
	for version, number := range map[string]int{"14.19 (Debian 14.19-1)": 140019, "9.6.24": 90624, "13beta1": 130000} {
		got := databaseFinding(version, number, "on", time.Millisecond)
		require.Equal(t, Finding{"database", FindingFailed, "PostgreSQL " + version + " is too old", "use version 15 or newer"}, got)
	}
	for version, number := range map[string]int{"15.0": 150000, "16beta1": 160000, "18.1": 180001} {
		require.Equal(t, Finding{"database", FindingOK, "PostgreSQL " + version + " responds in 1ms", ""}, databaseFinding(version, number, "on", time.Millisecond))
		require.Equal(t, FindingFailed, databaseFinding(version, number, "off", time.Millisecond).Status)
	}
}

// The pools of all processes fit into what PostgreSQL accepts, beside other programs.
func TestConnectionFinding(t *testing.T) {
	t.Parallel()
	require.Equal(t, Finding{"connections", FindingOK, "up to 53 of the 97 that PostgreSQL accepts, others have 44", ""}, connectionUse{1, 53, 44, 97}.finding())
	require.Equal(t, FindingOK, connectionUse{2, 40, 17, 97}.finding().Status)
	beside := connectionUse{2, 40, 18, 97}.finding()
	require.Equal(t, FindingWarning, beside.Status)
	require.Equal(t, "2 processes with up to 40 connections each: 80; PostgreSQL accepts 97, others have 18", beside.Detail)
	require.Equal(t, "set max_connections of PostgreSQL to 108 or more, or run fewer processes", beside.Advice)
	require.Equal(t, FindingFailed, connectionUse{2, 53, 0, 97}.finding().Status)
	require.Equal(t, FindingOK, connectionUse{2, maxConnections(3), 3, 97}.finding().Status, "two processes with every product, beside psql, by PostgreSQL's default")
}

// The doctor names an egress proxy, without its password, and says whether it takes connections.
func TestEgressProxyFinding(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	check := func() (found Finding) {
		checkEgress(t.Context(), config.Config{PublicURL: "http://hub.example", EgressProxy: config.Secret("http://hub:hidden-value@" + address)}, func(f Finding) { found = f })
		return found
	}
	require.Contains(t, check().Detail, ", the egress proxy "+address+" takes connections")
	require.NoError(t, listener.Close())
	require.Equal(t, Finding{"egress", FindingWarning, "the egress proxy " + address + " cannot be reached", "deliveries to other machines fail until it is back; check HUB_EGRESS_PROXY"}, check())
}

// A disk is full before nothing at all is free: PostgreSQL cannot write then.
func TestSpaceFinding(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	require.Equal(t, Finding{"disk", FindingOK, "2.0 GiB of 100.0 GiB free on the disk of the data directory", ""}, spaceFinding("the data directory", 2*gib, 100*gib))
	low := spaceFinding("the data directory", 2*gib-1, 100*gib)
	require.Equal(t, FindingWarning, low.Status)
	require.Contains(t, low.Advice, "HUB_RETENTION")
	require.Equal(t, FindingWarning, spaceFinding("the data directory", gib/4, 100*gib).Status)
	full := spaceFinding("the data directory", gib/4-1, 100*gib)
	require.Equal(t, FindingFailed, full.Status)
	require.Equal(t, "255 MiB of 100.0 GiB free on the disk of the data directory", full.Detail)
}

// The disk of uploads is checked where they are in a directory of their own.
func TestDisksThatAreChecked(t *testing.T) {
	t.Parallel()
	check := func(cfg config.Config) (found []Finding) {
		checkDisks(cfg, func(f Finding) { found = append(found, f) })
		return found
	}
	dir := t.TempDir()
	own := check(config.Config{DataDir: dir})
	require.Len(t, own, 1)
	require.Contains(t, own[0].Detail, "free on the disk of the data directory")
	require.Len(t, check(config.Config{DataDir: dir, BlobURL: "s3://uploads"}), 1)
	both := check(config.Config{DataDir: dir, BlobURL: "file://" + dir + "?no_tmp_dir=true"})
	require.Len(t, both, 2)
	require.Contains(t, both[1].Detail, "free on the disk of the directory for uploads")
	missing := check(config.Config{DataDir: dir + "/missing"})
	require.Equal(t, FindingWarning, missing[0].Status)
	require.Contains(t, missing[0].Detail, "reading the free space of the data directory failed")
}
