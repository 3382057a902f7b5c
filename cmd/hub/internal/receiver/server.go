package receiver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Server runs a [Receiver] on loopback.
type Server struct {
	URL      string // address to deliver to
	listener net.Listener
	http     *http.Server
	ended    chan error
}

// Open takes a port on 127.0.0.1; 0 takes a free one. What arrives waits until
// [Server.Serve], by when the receiver can know its secret.
func Open(port int) (*Server, error) {
	listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("taking a port: %w", err)
	}
	return &Server{URL: "http://" + listener.Addr().String() + "/", listener: listener, ended: make(chan error, 1)}, nil
}

// Serve begins to take deliveries and returns at once.
func (s *Server) Serve(receiver *Receiver) {
	s.http = &http.Server{
		Handler:           receiver,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	go func() {
		err := s.http.Serve(s.listener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		s.ended <- err
	}()
}

// Ended receives once, when serving ends: nil after [Server.Close].
func (s *Server) Ended() <-chan error { return s.ended }

// Close ends serving; requests being answered are finished first, until ctx ends.
func (s *Server) Close(ctx context.Context) {
	if s.http == nil {
		_ = s.listener.Close()
		return
	}
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
}
