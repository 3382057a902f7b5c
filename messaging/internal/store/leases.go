package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"integrationhub/hub/module/lease"
	"integrationhub/messaging/internal/store/dbgen"
)

const (
	connectionLease = 8 * time.Second // on the database's clock
	renewInterval   = 2500 * time.Millisecond
	maxUnrenewed    = 5500 * time.Millisecond // then the work ends, before the lease does
	releaseTime     = 5 * time.Second         // for a hub that stops, to give a connection up
)

// OwnConnection runs work while this process owns a connection. isOwner is false if another
// process owns it: then work is not run. The lease is renewed meanwhile and stays for its
// time, so that the same process goes on; when the hub stops, it ends. The context of work
// ends if the lease could not be renewed.
func (s *Store) OwnConnection(ctx context.Context, company, connection int64, work func(context.Context) error) (isOwner bool, err error) {
	claimed := time.Now()
	claim := func(ctx context.Context) (bool, error) { return s.claimConnection(ctx, company, connection) }
	if isOwner, err = claim(ctx); err != nil || !isOwner {
		return false, err
	}
	working, stop := lease.Keep(ctx, claimed, lease.Terms{Renew: renewInterval, GiveUp: maxUnrenewed}, claim)
	defer stop()
	err = work(working)
	if cause := context.Cause(working); errors.Is(cause, lease.ErrLost) {
		err = errors.Join(err, cause)
	}
	stop()
	if ctx.Err() == nil {
		return true, err
	}
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	return true, errors.Join(err, s.ReleaseConnection(releasing, company, connection, s.holder))
}

func (s *Store) claimConnection(ctx context.Context, company, connection int64) (bool, error) {
	isOwner, err := s.ClaimConnection(ctx, dbgen.ClaimConnectionParams{Holder: s.holder, Seconds: connectionLease.Seconds(), CompanyID: company, ConnectionID: connection})
	if err != nil {
		return false, fmt.Errorf("taking the lease of a connection: %w", err)
	}
	return isOwner, nil
}
