package publicbooking

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// UnsubscribeURL returns the page on which a client ends marketing messages; a POST to
// it does so. It contains the organization's id, because slugs can change owner.
func (s *Service) UnsubscribeURL(org store.Org, client uuid.UUID) string {
	return s.host.URLs.Public + "/book/" + org.ID.String() + "/unsubscribe?token=" + url.QueryEscape(s.unsubscribeToken(org, client))
}

// unsubscribeToken never expires: an e-mail may be read years later.
func (s *Service) unsubscribeToken(org store.Org, client uuid.UUID) string {
	mac := hmac.New(sha256.New, s.host.Sealer.Derive("unsubscribe"))
	mac.Write(org.ID[:])
	mac.Write(client[:])
	return base64.RawURLEncoding.EncodeToString(append(client[:], mac.Sum(nil)...))
}

// UnsubscribeOrganization finds the organization of an unsubscribe link by its id, or
// by slug like [Service.Organization].
func (s *Service) UnsubscribeOrganization(ctx context.Context, name string) (store.Org, error) {
	if id, err := uuid.Parse(name); err == nil {
		if org, err := s.store.LoadOrg(ctx, id); !errors.Is(err, hub.ErrNotFound) {
			return org, err
		}
	}
	return s.Organization(ctx, name)
}

// VerifyUnsubscribeToken returns the client of a token, or [hub.ErrNotFound] for an
// invalid one.
func (s *Service) VerifyUnsubscribeToken(org store.Org, token string) (client uuid.UUID, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err == nil && len(raw) == 16+sha256.Size {
		client = uuid.UUID(raw[:16])
	}
	if client == uuid.Nil || !hmac.Equal([]byte(s.unsubscribeToken(org, client)), []byte(token)) {
		return uuid.Nil, hub.Errorf(hub.ErrNotFound, "invalid_token", "Invalid token")
	}
	return client, nil
}

// Unsubscribe withdraws a client's consent to marketing. Repeating it, or doing it for
// a client who no longer exists, is no error.
func (s *Service) Unsubscribe(ctx context.Context, org store.Org, token string) error {
	client, err := s.VerifyUnsubscribeToken(org, token)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, "withdrawing marketing consent", func(tx *store.Tx) error {
		_, err := tx.WithdrawMarketingConsent(ctx, dbgen.WithdrawMarketingConsentParams{OrgID: org.ID, ID: client, Now: tx.Now()})
		return err
	})
}
