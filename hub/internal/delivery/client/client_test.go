package client

import (
	"context"
	"net"
	"time"
)

func dialPlain(ctx context.Context, network, addr string) (net.Conn, time.Duration, time.Duration, error) {
	start := time.Now()
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	return conn, 0, time.Since(start), err
}
