package store

import (
	"context"
	"fmt"

	"integrationhub/hub/module/pointer"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/store/dbgen"
)

// Connection is a row of messaging.connections.
type Connection = dbgen.Connection

// CreateConnection inserts a connection. It sets the id, the state and the times. The first
// connection of a company is its default one.
func (t *Tx) CreateConnection(ctx context.Context, c Connection) (Connection, error) {
	return t.InsertConnection(ctx, dbgen.InsertConnectionParams{
		CompanyID: c.CompanyID, Name: c.Name, Driver: c.Driver, GreetingMessage: c.GreetingMessage, FarewellMessage: c.FarewellMessage,
		OutOfHoursMessage: c.OutOfHoursMessage, RatingMessage: c.RatingMessage, SendIntervalMS: c.SendIntervalMS, DailyLimit: c.DailyLimit, CreatedAt: t.Now(),
		TransferQueueID: c.TransferQueueID, TimeToTransfer: c.TimeToTransfer, ExpiresTicket: c.ExpiresTicket, ExpiresInactiveMessage: c.ExpiresInactiveMessage,
		MaxUseBotQueues: c.MaxUseBotQueues,
	})
}

// SaveConnection stores the settings of a connection that the transaction has locked. A new
// default connection takes the place of the earlier one.
func (t *Tx) SaveConnection(ctx context.Context, c Connection) (Connection, error) {
	if c.IsDefault {
		if err := t.ClearDefaultConnection(ctx, t.Now(), c.CompanyID, c.ID); err != nil {
			return c, fmt.Errorf("clearing the default connection: %w", err)
		}
	}
	return t.UpdateConnection(ctx, dbgen.UpdateConnectionParams{
		CompanyID: c.CompanyID, ID: c.ID, Name: c.Name, GreetingMessage: c.GreetingMessage, FarewellMessage: c.FarewellMessage,
		OutOfHoursMessage: c.OutOfHoursMessage, RatingMessage: c.RatingMessage, SendIntervalMS: c.SendIntervalMS, DailyLimit: c.DailyLimit,
		IsDefault: c.IsDefault, UpdatedAt: t.Now(),
		TransferQueueID: c.TransferQueueID, TimeToTransfer: c.TimeToTransfer, ExpiresTicket: c.ExpiresTicket, ExpiresInactiveMessage: c.ExpiresInactiveMessage,
		MaxUseBotQueues: c.MaxUseBotQueues,
	})
}

// ChangeConnectionState stores the state of a connection, unless it is older than the stored
// one or says nothing new. A QR code is kept in its state only.
func (t *Tx) ChangeConnectionState(ctx context.Context, change driver.ConnectionChange) (Connection, error) {
	current, err := t.LockConnectionByID(ctx, change.ConnectionID)
	isOld := change.Sequence != 0 && change.Sequence < current.StateSequence || !change.At.IsZero() && change.At.Before(current.UpdatedAt)
	if err != nil || isOld || isSameState(current, change) {
		return current, err
	}
	params := dbgen.UpdateConnectionStateParams{ID: change.ConnectionID, Status: change.Status, StateSequence: change.Sequence, UpdatedAt: t.Now()}
	if change.Status == chat.ConnectionQRCode {
		params.QRCode, params.QRExpiresAt = change.QRCode, &change.QRExpiresAt
	}
	if change.Number != "" {
		params.Number = &change.Number
	}
	if change.LastError != "" {
		params.LastError = &change.LastError
	}
	return t.UpdateConnectionState(ctx, params)
}

// isSameState reports whether a change says what is stored. Networks that do not answer are
// counted.
func isSameState(c Connection, change driver.ConnectionChange) bool {
	if change.Status == chat.ConnectionTimeout {
		return false
	}
	hasCode := change.Status == chat.ConnectionQRCode
	return change.Status == c.Status && (change.Number == "" || change.Number == pointer.ValueOrZero(c.Number)) && change.LastError == pointer.ValueOrZero(c.LastError) &&
		change.Sequence <= c.StateSequence && (!hasCode || change.QRCode == c.QRCode)
}

// SealSettings encrypts the driver's own settings of a connection and stores them.
func (t *Tx) SealSettings(ctx context.Context, c Connection, settings []byte) (Connection, error) {
	return t.SetConnectionSettings(ctx, dbgen.SetConnectionSettingsParams{
		CompanyID: c.CompanyID, ID: c.ID, Settings: t.sealer.Seal(settings, settingsContext(c)), UpdatedAt: t.Now(),
	})
}

// settingsContext binds sealed settings to their connection: copied to another row they do
// not open.
func settingsContext(c Connection) string {
	return fmt.Sprintf("connection settings %d %d", c.CompanyID, c.ID)
}

// DriverConnection returns a connection as its driver knows it, with its settings opened.
func (s *Store) DriverConnection(c Connection) (driver.Connection, error) {
	out := driver.Connection{CompanyID: c.CompanyID, ID: c.ID}
	if c.Number != nil {
		out.Number = *c.Number
	}
	if c.Settings == nil {
		return out, nil
	}
	var err error
	if out.Settings, err = s.host.Sealer.Open(c.Settings, settingsContext(c)); err != nil {
		return out, fmt.Errorf("opening a connection's settings: %w", err)
	}
	return out, nil
}
