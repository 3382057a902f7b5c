package provider

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
)

// Config selects and configures a provider.
type Config struct {
	Provider      string           // name, "" = none
	Token         string           // access token, of real ones
	Secret        string           // signs webhooks, of real ones
	SandboxSecret string           // likewise of the sandbox
	DB            *pgxpool.Pool    // of the sandbox
	Do            hub.Doer         //
	Now           func() time.Time //
}

// Open returns the configured provider, or nil without one.
func Open(config Config) (Provider, error) {
	switch config.Provider {
	case "":
		return nil, nil
	case NameSandbox:
		return NewSandbox(SandboxConfig{DB: config.DB, Secret: config.SandboxSecret, Do: config.Do, Now: config.Now}), nil
	case NameMercadoPago:
		return NewMercadoPago(MercadoPagoConfig{Token: config.Token, Secret: config.Secret, Do: config.Do, Now: config.Now}), nil
	}
	return nil, fmt.Errorf("choosing a payment provider: there is none called %q", config.Provider)
}
