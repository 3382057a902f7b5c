package connect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// When both sides connect at once, each brings a secret. The secret whose SHA-256 is
// greater wins on both sides; the other one is accepted for the overlap.

const (
	secretDraws    = 256     // candidates, of which the best becomes the new secret
	maxSecretDraws = 1 << 16 // if none of those wins
)

// winsOver reports whether a secret wins over another of the same moment. Both sides
// come to the same result.
func winsOver(secret, other string) bool {
	a, b := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(other))
	return bytes.Compare(a[:], b[:]) > 0
}

// drawSecret returns a random secret that wins over another, "" if it found none. Of
// many candidates it returns the one that wins by the least, so that many more
// rotations can follow.
func drawSecret(over string) (best string) {
	for n := 0; n < secretDraws || best == "" && n < maxSecretDraws; n++ {
		secret := hub.NewWebhookSecret()
		if (over == "" || winsOver(secret, over)) && (best == "" || winsOver(best, secret)) {
			best = secret
		}
	}
	return best
}

// setPendingSecret makes the secret that the next registration brings the peer. If the
// peer registered a moment ago, both sides connect at once and the peer's secret stays.
func (s *Service) setPendingSecret(i *integration.Integration) error {
	if i.PeerRegisteredAt != nil && s.Now().Sub(*i.PeerRegisteredAt) < simultaneous && len(i.Secret) > 0 {
		i.PendingSecret = nil
		return nil
	}
	return s.drawPendingSecret(i)
}

// drawPendingSecret makes a pending secret that the peer is sure to take. It leaves none
// pending if it found none.
func (s *Service) drawPendingSecret(i *integration.Integration) error {
	secrets, err := i.OpenSecrets(s.Box)
	if err != nil {
		return err
	}
	over := ""
	if i.PeerRegisteredAt != nil && s.Now().Sub(*i.PeerRegisteredAt) < settling {
		// The peer may take this for the other half of a handshake of its own that just
		// ended: let the new secret be the one that wins.
		over = secrets.Current
	}
	i.PendingSecret, i.RotationOverlap = nil, nil
	if secret := drawSecret(over); secret != "" {
		i.PendingSecret = i.SealSecret(s.Box, secret)
	}
	return nil
}

// acceptSecret applies the secret of a peer's registration, "" if the peer has none. It
// returns the secret if it had to make one. If a handshake of ours is under way or has
// just ended, both sides connect at once and the winning secret becomes current.
func (s *Service) acceptSecret(i *integration.Integration, secret string) (generated string, err error) {
	now := s.Now()
	ours, err := i.OpenSecrets(s.Box)
	if err != nil {
		return "", err
	}
	if secret == "" {
		if ours.Current != "" {
			return "", nil
		}
		generated = hub.NewWebhookSecret()
		secret = generated
	}
	sealed := i.SealSecret(s.Box, secret)
	expiresAt := new(now.Add(overlap))
	isUnderWay := ours.Pending != "" && i.RegistrationFailures == 0
	hasJustEnded := i.RegisteredAt != nil && now.Sub(*i.RegisteredAt) < simultaneous
	switch {
	case secret == ours.Current:
	case isUnderWay && winsOver(ours.Pending, secret):
		// The peer signs with its own until ours, which is on its way, has won there.
		i.Secret = sealed
	case isUnderWay:
		i.Secret, i.PreviousSecret, i.PreviousSecretExpiresAt, i.PendingSecret = sealed, i.PendingSecret, expiresAt, nil
	case hasJustEnded && ours.Current != "" && winsOver(ours.Current, secret):
		i.PreviousSecret, i.PreviousSecretExpiresAt = sealed, expiresAt
	default:
		if ours.Current != "" {
			i.PreviousSecret, i.PreviousSecretExpiresAt = i.Secret, expiresAt
		}
		i.Secret, i.PendingSecret = sealed, nil
	}
	return generated, nil
}

// promotePendingSecret makes the secret that the peer received the current one, unless
// it was replaced since. sent is the integration as it was sent to the peer.
func (s *Service) promotePendingSecret(i *integration.Integration, sent integration.Integration) error {
	secrets, err := sent.OpenSecrets(s.Box)
	if err != nil {
		return err
	}
	stored, err := i.OpenSecrets(s.Box)
	if err != nil || stored.Pending == "" || stored.Pending != secrets.Pending {
		return err
	}
	if stored.Current != "" && stored.Current != stored.Pending {
		validFor := overlap
		if i.RotationOverlap != nil {
			validFor = *i.RotationOverlap
		}
		i.PreviousSecret, i.PreviousSecretExpiresAt = i.Secret, new(s.Now().Add(validFor))
	}
	i.Secret, i.PendingSecret = i.PendingSecret, nil
	return nil
}

// setRemoteKey makes the peer's key the current one and keeps the one before.
func (s *Service) setRemoteKey(ctx context.Context, tx pgx.Tx, i *integration.Integration, key string) error {
	secrets, err := i.OpenSecrets(s.Box)
	if err != nil || secrets.RemoteKey == key {
		return err
	}
	if i.IsLink, err = isLinkKey(ctx, tx, key); err != nil {
		return err
	}
	if secrets.RemoteKey != "" {
		i.PreviousRemoteKey = i.RemoteKey
	}
	i.RemoteKey, i.RemoteKeyLast4 = i.SealRemoteKey(s.Box, key), keys.Last4(key)
	return nil
}

// isLinkKey reports whether this hub issued a key for a link of two of its accounts.
func isLinkKey(ctx context.Context, tx pgx.Tx, key string) (bool, error) {
	if keys.Check(key) != nil { // another issuer's
		return false, nil
	}
	hash := keys.Hash(key)
	isLink, err := dbgen.New(tx).IsLinkKey(ctx, hash[:])
	return isLink, store.Wrap("looking whose a key is", err)
}

// setPendingLocalKey issues the key that the next registration brings the peer. A key
// that was issued before is used instead of a new one unless it is "".
func (s *Service) setPendingLocalKey(ctx context.Context, tx pgx.Tx, product Product, i *integration.Integration, issued string) error {
	if issued == "" {
		key, plain, err := s.Keys.CreateIn(ctx, tx, keys.Draft{
			TenantID: i.TenantID, Name: i.Product, Environment: i.Environment, IntegrationID: &i.ID, ForPeer: true, ForLink: i.IsLink,
		})
		if err != nil {
			return err
		}
		i.PendingLocalKeyID, i.PendingLocalKey = &key.ID, i.SealLocalKey(s.Box, plain)
		return nil
	}
	hash := keys.Hash(issued)
	queries := dbgen.New(tx)
	key, err := queries.IntegrationKeyByHash(ctx, dbgen.IntegrationKeyByHashParams{Hash: hash[:], TenantID: i.TenantID, Environment: i.Environment, At: s.Now()})
	if errors.Is(err, pgx.ErrNoRows) {
		return hub.Invalid("body.api_key_local", "must be a valid "+string(i.Environment)+" key that "+product.Spec.Name+" issued")
	}
	if err != nil {
		return err
	}
	if err := bindKey(ctx, queries, key.ID, i); err != nil {
		return err
	}
	i.PendingLocalKeyID, i.PendingLocalKey = &key.ID, i.SealLocalKey(s.Box, issued)
	return nil
}

// bindKey binds one of our keys to an integration. A key that is bound to another one is
// a [hub.ErrConflict].
func bindKey(ctx context.Context, queries *dbgen.Queries, keyID uuid.UUID, i *integration.Integration) error {
	bound, err := queries.BindKeyToIntegration(ctx, dbgen.BindKeyToIntegrationParams{IntegrationID: i.ID, ID: keyID, TenantID: i.TenantID})
	if err == nil && bound == 0 {
		return hub.Errorf(hub.ErrConflict, "key_in_use", "This key belongs to another integration already; issue one for each.")
	}
	return err
}
