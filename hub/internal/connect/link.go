package connect

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/registry"
)

// LinkRequest asks to connect two tenants that both live in this hub.
type LinkRequest struct {
	TenantID     uuid.UUID
	PeerTenantID uuid.UUID
	Environment  hub.Environment
	Uses         []string // what the connection is for
}

// Link issues a key of the peer tenant and runs the ordinary handshake with it, over
// HTTP. This key, and the one that the handshake brings the peer, have the rate of links. It
// returns both sides' integrations, the first tenant's first. A tenant that is
// connected to another account of the other's product is a [hub.ErrConflict]; then
// nothing is changed.
func (s *Service) Link(ctx context.Context, r LinkRequest) ([2]View, error) {
	var both [2]View
	tenant, err := s.loadTenant(ctx, r.TenantID)
	if err != nil {
		return both, err
	}
	peer, err := s.loadTenant(ctx, r.PeerTenantID)
	if err != nil {
		return both, err
	}
	peerProduct, hosted := s.Products(peer.Product)
	if !hosted {
		return both, hub.Errorf(hub.ErrInvalid, "product_not_hosted", "Only tenants of products that this hub runs can be linked; connect the others.")
	}
	for _, side := range [][2]registry.Tenant{{tenant, peer}, {peer, tenant}} {
		if err := s.checkLinkable(ctx, side[0], side[1], r.Environment); err != nil {
			return both, err
		}
	}
	key, plain, err := s.Keys.Create(ctx, keys.Draft{TenantID: peer.ID, Name: tenant.Product, Environment: r.Environment, ForPeer: true, ForLink: true})
	if err != nil {
		return both, err
	}
	both[0], err = s.Connect(ctx, Request{
		TenantID: tenant.ID, LocalProduct: tenant.Product, Environment: r.Environment, Product: peer.Product, Key: plain,
		APIURL: peerProduct.apiURL(), Uses: r.Uses,
	})
	if err != nil {
		if _, revokeErr := s.Keys.Revoke(context.WithoutCancel(ctx), key.ID); revokeErr != nil {
			s.Log.WarnContext(ctx, "a key made for a link that failed was not revoked", "key_id", key.ID, "error", revokeErr)
		}
		return both, err
	}
	peerSide, err := s.List(ctx, integration.Filter{TenantID: &peer.ID, Environment: r.Environment, Product: tenant.Product}, nil, 1)
	if err == nil && len(peerSide) == 1 {
		both[1] = peerSide[0]
	}
	return both, err
}
