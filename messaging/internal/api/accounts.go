package api

import (
	"context"
	"encoding/json"
	"fmt"

	"integrationhub/hub"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/driver/bridge"
	"integrationhub/messaging/internal/driver/cloud"
	"integrationhub/messaging/internal/store"
)

// A connection's account at its network is the driver's own settings: stored encrypted, and
// in no response.

// hasAccount reports whether a request has a connection's account.
func (f ConnectionFields) hasAccount() bool { return f.Cloud.Set || f.Bridge.Set }

// accountSettings returns the settings of a connection with the changes of a request, as
// JSON; nil for drivers that have none. current has the stored ones, if any.
func (a *API) accountSettings(f ConnectionFields, driverName string, current driver.Connection) ([]byte, error) {
	if f.Cloud.Set && driverName != cloud.Name {
		return nil, hub.Invalid("body.cloud", "is for connections of the driver cloud")
	}
	if f.Bridge.Set && driverName != bridge.Name {
		return nil, hub.Invalid("body.bridge", "is for connections of the driver bridge")
	}
	if current.Settings == nil {
		current.Settings = []byte("{}")
	}
	switch driverName {
	case cloud.Name:
		settings, err := cloud.ParseSettings(current)
		if err == nil {
			settings, err = f.Cloud.Value.applyTo(settings)
		}
		return encodeSettings(settings, err)
	case bridge.Name:
		settings, err := bridge.ParseSettings(current)
		if err == nil {
			settings, err = f.Bridge.Value.applyTo(settings, a.host.Settings.Development)
		}
		return encodeSettings(settings, err)
	}
	return nil, nil
}

// encodeSettings returns settings as JSON, unless there is an error. They are sealed before
// they are stored.
func encodeSettings(settings any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(settings)
}

// changeAccount stores the changes of a connection's account.
func (a *API) changeAccount(ctx context.Context, tx *store.Tx, c store.Connection, f ConnectionFields) (store.Connection, error) {
	current, err := a.store.DriverConnection(c)
	if err != nil {
		return c, err
	}
	settings, err := a.accountSettings(f, c.Driver, current)
	if err != nil {
		return c, err
	}
	return tx.SealSettings(ctx, c, settings)
}

// webhookURL returns the address at which a connection's network reports, nil where it has
// none.
func (a *API) webhookURL(c store.Connection) *string {
	switch c.Driver {
	case cloud.Name:
		return new(fmt.Sprintf("%s/webhooks/cloud/%d", a.host.URLs.Base, c.ID))
	case bridge.Name:
		return new(bridge.WebhookURL(a.host.URLs.Base, c.ID))
	}
	return nil
}
