package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"integrationhub/messaging/internal/store/dbgen"
)

const (
	connectionLease = 15 * time.Second // on the database's clock
	renewInterval   = 5 * time.Second
	maxUnrenewed    = 10 * time.Second // on this process's clock; then the work stops before the lease ends
)

// errLostConnection ends the work of a process that does not own the connection any more.
var errLostConnection = errors.New("another process may own the connection now")

// newHolder returns the name of this process among those that share the database.
func newHolder() string { return fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()) }

// OwnConnection runs work while this process owns a connection. isOwner is false if another
// process owns it: then work is not run. The lease is renewed meanwhile and stays for its
// time, so that the same process goes on; when the hub stops, it ends. The context of work
// ends if the lease could not be renewed.
func (s *Store) OwnConnection(ctx context.Context, company, connection int64, work func(context.Context) error) (isOwner bool, err error) {
	claimed := time.Now()
	isOwner, err = s.claimConnection(ctx, company, connection)
	if err != nil || !isOwner {
		return false, err
	}
	working, lose := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.renewConnection(working, lease{company, connection, claimed}, lose)
	}()
	err = work(working)
	if cause := context.Cause(working); errors.Is(cause, errLostConnection) {
		err = errors.Join(err, cause)
	}
	lose(nil)
	<-stopped
	if ctx.Err() == nil {
		return true, err
	}
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewInterval)
	defer cancel()
	return true, errors.Join(err, s.ReleaseConnection(releasing, company, connection, s.holder))
}

func (s *Store) claimConnection(ctx context.Context, company, connection int64) (bool, error) {
	rows, err := s.ClaimConnection(ctx, dbgen.ClaimConnectionParams{Holder: s.holder, Seconds: connectionLease.Seconds(), CompanyID: company, ConnectionID: connection})
	if err != nil {
		return false, fmt.Errorf("taking the lease of a connection: %w", err)
	}
	return rows > 0, nil
}

// lease is a connection that this process owns.
type lease struct {
	company, connection int64
	renewed             time.Time
}

// renewConnection renews a lease until ctx ends. It calls lose when that fails for too long.
func (s *Store) renewConnection(ctx context.Context, l lease, lose context.CancelCauseFunc) {
	tick := time.NewTicker(renewInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := time.Now()
		calling, cancel := context.WithTimeout(ctx, renewInterval)
		isOwner, err := s.claimConnection(calling, l.company, l.connection)
		cancel()
		switch {
		case err == nil && isOwner:
			l.renewed = began
		case err == nil || time.Since(l.renewed) > maxUnrenewed-renewInterval:
			lose(errLostConnection)
			return
		}
	}
}
