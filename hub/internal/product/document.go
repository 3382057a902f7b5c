package product

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/gofiber/fiber/v2"

	"integrationhub/hub/module"
)

// Document is the OpenAPI 3.1 document of everything under a product's base, without a
// running hub. The product's address in it is its usual path.
func Document(ctx context.Context, m module.Module) ([]byte, error) {
	spec, log := m.Spec(), slog.New(slog.DiscardHandler)
	instance, err := m.Open(ctx, module.Kit{Sealer: paperSealer{}, Log: log, Now: time.Now})
	if err != nil {
		return nil, fmt.Errorf("opening product %s: %w", spec.Name, err)
	}
	p, err := Mount(fiber.New(fiber.Config{DisableStartupMessage: true}), "/"+spec.Name, spec, instance, Deps{Log: log, BaseURL: "/" + spec.Name})
	if err != nil {
		return nil, err
	}
	return p.OpenAPI()
}

// paperSealer is for products that derive their keys when they are opened; nothing is
// ever sealed with it.
type paperSealer struct{}

// Seal implements [module.Sealer].
func (paperSealer) Seal([]byte, string) []byte { return nil }

// Open implements [module.Sealer].
func (paperSealer) Open([]byte, string) ([]byte, error) { return nil, nil }

// Derive implements [module.Sealer].
func (paperSealer) Derive(string) []byte { return make([]byte, 32) }
