package productapi_test

import (
	"context"
	"encoding/base64"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
)

// hubBinary builds a hub with failpoints, once.
var hubBinary = sync.OnceValues(func() (string, error) {
	return hubtest.BuildProgram("hubnotes-failpoint", "integrationhub/hub/hubtest/notes/hubnotes", "-tags", "failpoint")
})

// killable is a hub in a process of its own.
type killable struct {
	*node
	dir      string
	address  string
	database string
	redis    string
	environ  []string
	process  *hubtest.Process
}

func newKillable(t *testing.T, environ ...string) *killable {
	t.Helper()
	hubtest.SkipShort(t)
	address, err := hubtest.FreeAddress()
	require.NoError(t, err)
	k := &killable{dir: t.TempDir(), address: address, database: hubtest.DatabaseURL(t), redis: hubtest.RedisURL(t), environ: environ}
	k.node = &node{t: t, url: "http://" + k.address}
	k.db, err = pgxpool.New(context.Background(), k.database)
	require.NoError(t, err)
	t.Cleanup(k.db.Close)
	k.start("")
	return k
}

// start starts the hub, which is killed when it reaches the failpoint: maybe before it is ready.
func (k *killable) start(failpoint string) {
	k.t.Helper()
	binary, err := hubBinary()
	require.NoError(k.t, err)
	cmd := exec.Command(binary)
	for _, text := range os.Environ() {
		if !strings.HasPrefix(text, "HUB_") {
			cmd.Env = append(cmd.Env, text)
		}
	}
	cmd.Env = append(cmd.Env, "HUB_LISTEN="+k.address, "HUB_DATA_DIR="+k.dir, "HUB_DATABASE_URL="+k.database, "HUB_REDIS_URL="+k.redis,
		"HUB_MASTER_KEY="+base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef")), "HUB_KEY_RATE=0", "HUB_FAILPOINT="+failpoint)
	cmd.Env = append(cmd.Env, k.environ...)
	k.process = hubtest.RunProcess(k.t, "hub", k.dir, cmd)
	require.Eventually(k.t, func() bool {
		select {
		case <-k.process.Exited():
			return failpoint != ""
		default:
		}
		got, err := try("GET", k.url+"/ready", "")
		return err == nil && got.status == 200
	}, soon, tick, "the hub does not start: %s", k.process.LogTail())
	local, err := config.ReadLocal(k.dir)
	require.NoError(k.t, err)
	k.token = local.Token
}

// restart ends the hub, if it lives, and starts it anew.
func (k *killable) restart(failpoint string) {
	k.t.Helper()
	k.process.Kill()
	k.start(failpoint)
}

// Either side is killed at every step of the handshake: afterwards there is one
// integration on either side at most, and it works without anybody's help.
func TestKilledInsideTheHandshake(t *testing.T) {
	t.Parallel()
	here, there := newKillable(t), newKillable(t)
	for _, c := range []struct {
		side  *killable
		place string
		left  int // integrations of the caller's tenant right afterwards
	}{
		{here, "handshake_asked", 0},
		{here, "handshake_stored", 1},
		{here, "handshake_registered", 1},
		{here, "handshake_finished", 1},
		{there, "registration_before_commit", 1},
		{there, "registration_after_commit", 1},
	} {
		a, b := here.signUp("notes"), there.signUp("board")
		key := b.issue()
		c.side.restart(c.place + ":1")
		body := connectBody("board", key, b.base+"/api/v1")
		_, _ = try("POST", a.integrations()+"/connect", body, bearer(a.admin)...)
		<-c.side.process.Exited()
		require.True(t, c.side.process.Killed(), "%s was reached", c.place)
		c.side.restart("")
		require.Len(t, a.do(200, "GET", "/", "").list, c.left, c.place)
		if c.left == 0 { // nothing was stored: it is asked for again
			a.do(200, "POST", "/connect", body)
		}
		// The next try is due in a minute: let it be now.
		_, err := here.db.Exec(context.Background(), `update hub.integrations set register_at = now() where register_at is not null`)
		require.NoError(t, err)
		var mine, theirs []map[string]any
		require.Eventually(t, func() bool {
			mine, theirs = a.do(200, "GET", "/", "").list, b.do(200, "GET", "/", "").list
			return len(mine) == 1 && mine[0]["status"] == "active" && len(theirs) == 1 && theirs[0]["status"] == "active"
		}, soon, 5*tick, "%s: %v %v", c.place, mine, theirs)
		require.Equal(t, mine[0]["webhook_secret"], theirs[0]["webhook_secret"], c.place)
		for _, entry := range []*tenant{a, b} {
			id := entry.do(200, "GET", "/", "").list[0]["id"].(string)
			tested := entry.do(200, "POST", "/"+id+"/test", "")
			require.Equal(t, true, tested.body["ok"], "%s: %s", c.place, tested.text)
		}
	}
}
