package connect

import (
	"context"

	"integrationhub/hub"
	"integrationhub/hub/internal/integration"
)

// UnnamedProduct is the product of a peer that registered without naming one: it knows
// only the documented webhook_url.
const UnnamedProduct = "external"

// LearnProduct sets the product of an unnamed peer to the one that its accepted event
// names, and reports whether it did. From then on only events of that product are accepted.
// The peer stays unnamed if it could not have registered with the name, if the tenant has
// an integration with that product, or if an administrator connected it as it is.
func (s *Service) LearnProduct(ctx context.Context, peer integration.Integration, localProduct, product string) (bool, error) {
	if peer.Product != UnnamedProduct || !s.isPeerProduct(localProduct, product) {
		return false, nil
	}
	return s.integrations().SetProduct(ctx, peer.ID, UnnamedProduct, product)
}

// isPeerProduct reports whether an unnamed peer can be the product. It cannot be the
// tenant's own product or the hub, nor one whose connector does not register: the peer did.
func (s *Service) isPeerProduct(localProduct, product string) bool {
	if !productPattern.MatchString(product) || product == localProduct || product == UnnamedProduct || product == hub.ProductHub {
		return false
	}
	_, registers := s.Connectors(product).(hub.Registrar)
	return registers
}
