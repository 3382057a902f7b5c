// Package sessions starts and ends the sessions of connections at their networks, and
// replaces QR codes that nobody scanned.
package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/store"
)

// maxQRCodes is how many QR codes in a row a connection gets; then it is disconnected.
const maxQRCodes = 3

// Times of QR codes that could not be replaced.
const (
	renewalPause = time.Minute     // until that is tried again
	markTime     = 5 * time.Second // to store it
)

// renewalGates is how many QR codes this process replaces at once.
const renewalGates = 64

// Service starts and ends sessions.
type Service struct {
	host    module.Host
	store   *store.Store
	drivers *driver.Drivers
	gates   [renewalGates]chan struct{} // by the connection's id
}

// New returns the service of an opened product.
func New(host module.Host, s *store.Store, drivers *driver.Drivers) *Service {
	service := &Service{host: host, store: s, drivers: drivers}
	for i := range service.gates {
		service.gates[i] = make(chan struct{}, 1)
	}
	return service
}

// lockRenewal waits until no other request of this process replaces the connection's QR code.
// The lease of the connection keeps other processes out.
func (s *Service) lockRenewal(ctx context.Context, connection int64) (unlock func(), err error) {
	gate := s.gates[connection%renewalGates]
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for a QR code: %w", ctx.Err())
	}
}

// Start starts the session of a connection and returns it as it is stored then. A connection
// that has a session keeps it.
func (s *Service) Start(ctx context.Context, c store.Connection) (store.Connection, error) {
	network, err := s.drivers.ByName(c.Driver)
	if err != nil {
		return c, err
	}
	opened, err := s.store.DriverConnection(c)
	if err != nil {
		return c, err
	}
	if err := network.Start(ctx, opened); err != nil {
		return c, fmt.Errorf("starting a session: %w", err)
	}
	return s.store.Connection(ctx, c.CompanyID, c.ID)
}

// Stop ends the session of a connection at its network.
func (s *Service) Stop(ctx context.Context, c store.Connection) error {
	network, err := s.drivers.ByName(c.Driver)
	if err != nil {
		return nil //nolint:nilerr // a network that is switched off has no session
	}
	opened, err := s.store.DriverConnection(c)
	if err != nil {
		return err
	}
	if err := network.Stop(ctx, opened); err != nil {
		return fmt.Errorf("ending a session: %w", err)
	}
	return nil
}

// Logout ends the session of a connection and marks it as disconnected.
func (s *Service) Logout(ctx context.Context, c store.Connection) (store.Connection, error) {
	if err := s.Stop(ctx, c); err != nil {
		return c, err
	}
	return s.disconnect(ctx, c, "")
}

func (s *Service) disconnect(ctx context.Context, c store.Connection, reason string) (store.Connection, error) {
	err := s.store.InTx(ctx, "disconnecting a connection", func(tx *store.Tx) error {
		var err error
		c, err = tx.ChangeConnectionState(ctx, driver.ConnectionChange{ConnectionID: c.ID, Status: chat.ConnectionDisconnected, LastError: reason})
		return err
	})
	return c, err
}

// RenewQRCode replaces the QR code of a connection if it has expired, unless another process
// owns the connection and does so. After three that nobody scanned, the connection is
// disconnected.
func (s *Service) RenewQRCode(ctx context.Context, c store.Connection) (store.Connection, error) {
	if !s.hasExpiredCode(c) {
		return c, nil
	}
	unlock, err := s.lockRenewal(ctx, c.ID)
	if err != nil {
		return c, err
	}
	defer unlock()
	_, err = s.store.OwnConnection(ctx, c.CompanyID, c.ID, func(ctx context.Context) (err error) {
		if c, err = s.store.Connection(ctx, c.CompanyID, c.ID); err != nil || !s.hasExpiredCode(c) {
			return err
		}
		c, err = s.replaceQRCode(ctx, c)
		return errors.Join(err, s.markRenewal(ctx, c, err))
	})
	return c, err
}

// replaceQRCode replaces the expired QR code of a connection that this process owns, or
// disconnects the connection.
func (s *Service) replaceQRCode(ctx context.Context, c store.Connection) (store.Connection, error) {
	if c.Retries+1 < maxQRCodes {
		return s.Start(ctx, c)
	}
	if err := s.Stop(ctx, c); err != nil { // its network goes on making codes
		return c, err
	}
	return s.disconnect(ctx, c, "Nobody scanned the QR code.")
}

// markRenewal stores whether the QR code of a connection could be replaced, also when the time for
// that has ended.
func (s *Service) markRenewal(ctx context.Context, c store.Connection, failure error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTime)
	defer cancel()
	var failedAt *time.Time
	if failure != nil {
		now := s.host.Now()
		failedAt = &now
	}
	if err := s.store.MarkRenewal(ctx, failedAt, c.CompanyID, c.ID); err != nil {
		return fmt.Errorf("storing whether a QR code was replaced: %w", err)
	}
	return nil
}

// hasExpiredCode reports whether a connection has a QR code that cannot be scanned any more.
func (s *Service) hasExpiredCode(c store.Connection) bool {
	return c.Status == chat.ConnectionQRCode && c.QRExpiresAt != nil && !c.QRExpiresAt.After(s.host.Now())
}

// CheckUnreachable is a background job: it checks whether networks that did not answer do so
// again. Then the messages that wait on their connections are sent.
func (s *Service) CheckUnreachable(ctx context.Context, _ []byte) error {
	return s.refreshAll(ctx, func() ([]store.Connection, error) { return s.store.UnreachableConnections(ctx, s.host.Now()) })
}

// Times of [Service.CheckSessions].
const (
	checkInterval = 30 * time.Second // between two checks of a session
	openingTime   = time.Minute      // after which a connection that is being started is started again
)

// CheckSessions is a background job: it asks for the state of sessions whose networks may
// fail to report it, and starts connections whose start was interrupted.
func (s *Service) CheckSessions(ctx context.Context, _ []byte) error {
	return s.refreshAll(ctx, func() ([]store.Connection, error) {
		return s.store.SessionsToCheck(ctx, s.drivers.SessionKeepers(), s.host.Now().Add(-openingTime), checkInterval.Seconds())
	})
}

// refreshAll checks the sessions of those connections that no other process owns.
func (s *Service) refreshAll(ctx context.Context, find findDue) error {
	return forEach(ctx, find, func(connection store.Connection) {
		_, err := s.store.OwnConnection(ctx, connection.CompanyID, connection.ID, func(ctx context.Context) error {
			return errors.Join(s.refresh(ctx, connection), s.store.MarkConnectionChecked(ctx, connection.CompanyID, connection.ID))
		})
		if err != nil {
			s.host.Log.WarnContext(ctx, "a connection could not be checked", "connection_id", connection.ID, "error", err)
		}
	})
}

// refresh checks the session of a connection at its network.
func (s *Service) refresh(ctx context.Context, c store.Connection) error {
	network, err := s.drivers.ByName(c.Driver)
	if err != nil {
		return err
	}
	opened, err := s.store.DriverConnection(c)
	if err != nil {
		return err
	}
	if keeper, ok := network.(driver.SessionRefresher); ok && c.Status != chat.ConnectionOpening {
		return keeper.Refresh(ctx, opened)
	}
	return network.Start(ctx, opened)
}

// RenewExpired is a background job: it replaces expired QR codes, several at the same time. Those
// that could not be replaced wait for a minute, and then come after all others.
func (s *Service) RenewExpired(ctx context.Context, _ []byte) error {
	find := func() ([]store.Connection, error) {
		return s.store.ConnectionsWithExpiredQRCode(ctx, s.host.Now(), s.host.Now().Add(-renewalPause))
	}
	return forEach(ctx, find, func(connection store.Connection) {
		if _, err := s.RenewQRCode(ctx, connection); err != nil {
			s.host.Log.WarnContext(ctx, "a QR code could not be replaced", "connection_id", connection.ID, "error", err)
		}
	})
}
