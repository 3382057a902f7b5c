package provider

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
)

// Config chooses a provider.
type Config struct {
	Provider      string           // name, "" = none
	Token         string           // access token, of real ones
	Secret        string           // signs webhooks, of real ones
	SandboxSecret string           // likewise of the sandbox
	DB            *pgxpool.Pool    // of the sandbox
	Do            hub.Doer         //
	Now           func() time.Time //
}

// Open gives the provider that was chosen, nil for none: then charges are answered
// with [NotConfigured].
func Open(c Config) (Provider, error) {
	switch c.Provider {
	case "":
		return nil, nil
	case NameSandbox:
		return NewSandbox(SandboxConfig{DB: c.DB, Secret: c.SandboxSecret, Do: c.Do, Now: c.Now}), nil
	case NameMercadoPago:
		return NewMercadoPago(MercadoPagoConfig{Token: c.Token, Secret: c.Secret, Do: c.Do, Now: c.Now}), nil
	}
	return nil, fmt.Errorf("choosing a payment provider: there is none called %q", c.Provider)
}
