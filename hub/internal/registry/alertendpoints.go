package registry

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// AlertScope returns the scope of the endpoints of alerts, which belong to no tenant.
func AlertScope() Scope { return Scope{TenantID: &uuid.UUID{}} }

// CheckURL returns a [hub.ErrInvalid] about the field location if webhooks may not be sent to
// an address.
func (e *Endpoints) CheckURL(location, url string) error {
	_, err := e.urls.CheckURL(location, url)
	return err
}

// CreateForAlert creates the endpoint of an alert and returns its id and secret. Events are
// published to it by name: it subscribes to none.
func (e *Endpoints) CreateForAlert(ctx context.Context, tx pgx.Tx, url string, enabled bool) (id uuid.UUID, secret string, err error) {
	id, secret = uuid.Must(uuid.NewV7()), hub.NewWebhookSecret()
	_, err = dbgen.New(tx).CreateEndpoint(ctx, dbgen.CreateEndpointParams{
		ID: id, Environment: hub.Live, Url: url, EventTypes: []string{hub.ReservedTypes + "*"}, Enabled: enabled,
		Secret: e.box.Seal([]byte(secret), SecretContext(id)), StandardSignature: true,
	})
	return id, secret, store.Wrap("storing the alert's endpoint", err)
}

// UpdateForAlert changes the endpoint of an alert. Enabling it forgets why the hub disabled it.
func (e *Endpoints) UpdateForAlert(ctx context.Context, tx pgx.Tx, id uuid.UUID, url string, enabled bool) error {
	_, err := dbgen.New(tx).UpdateAlertEndpoint(ctx, dbgen.UpdateAlertEndpointParams{ID: id, Url: url, Enabled: enabled})
	return store.Wrap("changing the alert's endpoint", err)
}
