package productapi_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
)

// Where no product may be: refused on the way in, wherever an address can be given, and
// nothing is stored.
func TestAddressesThatAreRefused(t *testing.T) {
	t.Parallel()
	n := start(t, func(cfg *config.Config) { cfg.Env = config.Production })
	o := n.signUp("notes")
	key := o.issue()
	for _, host := range []string{
		"127.0.0.1:1", "localhost:1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1",
		"169.254.1.1", "169.254.169.254", "192.0.0.8", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"[::]", "[::1]", "[fc00::1]", "[fe80::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]",
		"user@peer.example", "user:secret@peer.example",
	} {
		address := "https://" + host + "/api/v1"
		refused(t, 422, "url_not_allowed", call(t, "POST", o.integrations()+"/connect", connectBody("crm", "crm_live_x", address), bearer(o.admin)...))
		register, err := json.Marshal(map[string]string{"product": "crm", "webhook_url": address, "webhook_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
		require.NoError(t, err)
		refused(t, 422, "url_not_allowed", call(t, "POST", o.integrations()+"/webhook/register", string(register), withKey(key)...))
	}
	for _, address := range []string{"", "peer.example", "//peer.example", "ftp://peer.example/", "file:///etc/passwd", "http://peer.example/", "https://peer.example/\r\nX: y"} {
		raw, err := json.Marshal(map[string]string{"product": "crm", "api_key": "crm_live_x", "api_url": address})
		require.NoError(t, err)
		require.Equal(t, 422, call(t, "POST", o.integrations()+"/connect", string(raw), bearer(o.admin)...).status, address)
	}
	var stored int
	require.NoError(t, n.db.QueryRow(t.Context(), `select count(*) from hub.integrations where registered_at is not null or peer_registered_at is not null`).Scan(&stored))
	require.Zero(t, stored)
	require.Empty(t, o.do(200, "GET", "/", "").list)
}

// Keys that count no more are 401 within a second, wherever they are sent; in the address
// no key ever counts.
func TestKeysThatAreRefused(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	body := envelope(newID(), "board", "note.created", "x")
	for name, end := range map[string]func(l *link){
		"revoked by the owner": func(l *link) { l.do(200, "DELETE", "/"+l.integration, "") },
		"key revoked":          func(l *link) { l.do(204, "DELETE", "/api-keys/"+keyID(l.tenant, l.key), "") },
		"key rotated": func(l *link) {
			l.do(201, "POST", "/api-keys/"+keyID(l.tenant, l.key)+"/rotate", `{"overlap_seconds":0}`)
		},
		"key expired": func(l *link) {
			_, err := l.db.Exec(t.Context(), `update hub.keys set expires_at = now() where id = $1`, keyID(l.tenant, l.key))
			require.NoError(t, err)
		},
	} {
		l := pair(n)
		require.Equal(t, 200, l.send(body).status, name)
		end(l)
		withinASecond(t, 401, func() int { return l.send(body).status })
		for _, path := range []string{"/status", "/search/notes"} {
			refused(t, 401, "invalid_key", call(t, "GET", l.integrations()+path, "", withKey(l.key)...))
		}
	}
	// The peer ended it: its key lives, as it may connect again; what it sends is refused.
	l := pair(n)
	l.peer.do(200, "DELETE", "/"+l.peer.do(200, "GET", "/", "").list[0]["id"].(string), "")
	withinASecond(t, 403, func() int { return l.send(body).status })
	l = pair(n)
	for _, query := range []string{"?X-Integration-Key=", "?api_key=", "?key="} {
		require.Equal(t, 401, call(t, "GET", l.integrations()+"/status"+query+l.key, "").status)
		require.Equal(t, 401, call(t, "POST", l.integrations()+"/webhook"+query+l.key, body, "X-Webhook-Signature", sign(l.secret, body)).status)
	}
}
