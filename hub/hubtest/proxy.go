package hubtest

import (
	"io"
	"net"
	"net/http"
)

// Tunnel answers a CONNECT request as a proxy does: it connects the client with an address, and
// returns when one of them ends the connection.
func Tunnel(w http.ResponseWriter, address string) {
	to, err := net.Dial("tcp", address)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = to.Close()
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(to, conn); _ = to.Close() }()
	_, _ = io.Copy(conn, to)
	_ = conn.Close()
}
