package payment_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

// lostCommit is a connection to the database that breaks once: after it committed the
// storing of a charge, before the response is read.
type lostCommit struct {
	net.Conn
	storing, lost bool
	late          bool // the commit itself is lost, or is still on its way
	done          *atomic.Bool
}

// Write implements [net.Conn].
func (c *lostCommit) Write(data []byte) (int, error) {
	c.storing = c.storing || bytes.Contains(data, []byte("-- name: CreateCharge"))
	if c.storing && bytes.Contains(data, []byte("commit")) {
		c.lost = c.done.CompareAndSwap(false, true)
		if c.lost && c.late {
			_ = c.Close()
			return 0, io.ErrClosedPipe
		}
	}
	return c.Conn.Write(data)
}

// Read implements [net.Conn].
func (c *lostCommit) Read(data []byte) (int, error) {
	n, err := c.Conn.Read(data)
	if c.lost && err == nil {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// losingCommit returns a change of the host: its database loses the response to such a commit.
func losingCommit(t testing.TB, late bool, done *atomic.Bool) func(*module.Host) {
	return func(host *module.Host) {
		settings := host.Pool.Config()
		dial := settings.ConnConfig.DialFunc
		settings.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return &lostCommit{Conn: conn, late: late, done: done}, err
		}
		pool, err := pgxpool.NewWithConfig(context.Background(), settings)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		host.Pool = pool
	}
}

// A booking whose commit succeeded keeps its code, also where the hub did not hear of it. A
// commit that is not visible yet may still succeed.
func TestLostCommitKeepsTheCode(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func(org *schedulingtest.Bookable) answer{
		"booking": func(org *schedulingtest.Bookable) answer {
			org.OK(200, "PUT", "/services/"+org.ServiceID, object{"requires_deposit": true, "deposit_amount": 20})
			return org.Guest().Call("POST", org.PublicPath("/appointments"), org.BookingBody(0))
		},
		"code": func(org *schedulingtest.Bookable) answer {
			return org.Call("POST", "/payments/pix", object{"client_id": org.ClientID, "amount": 5})
		},
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, late %v", name, late), func(t *testing.T) {
				t.Parallel()
				var b bank
				var done atomic.Bool
				org := b.payments(t, losingCommit(t, late, &done))
				failed := create(org)
				require.True(t, done.Load())
				require.GreaterOrEqual(t, failed.Status, 500, failed.Text)
				if !late {
					require.Equal(t, 1, org.Count("scheduling.charges where org_id = $1", org.ID), "it was committed")
				}
				require.Equal(t, []string{"POST"}, b.methods)
				require.Equal(t, "pending", b.charge["status"])
			})
		}
	}
}
