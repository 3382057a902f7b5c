package integration

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
)

// Opener decrypts what is encrypted at rest.
type Opener interface {
	Open(sealed []byte, context string) ([]byte, error)
}

// Sealer encrypts what is stored.
type Sealer interface {
	Seal(plain []byte, context string) []byte
}

// Secrets are an integration's secrets and keys in plain text: never log them.
type Secrets struct {
	Current, Previous, Pending   string // webhook secrets; "" = none
	RemoteKey, PreviousRemoteKey string // the peer's keys for our calls; "" = none
	previousExpiresAt            time.Time
}

// OpenSecrets decrypts the integration's secrets and the peer's keys.
func (i *Integration) OpenSecrets(box Opener) (Secrets, error) {
	var s Secrets
	for _, field := range []struct {
		plain   *string
		sealed  []byte
		context string
	}{
		{&s.Current, i.Secret, SecretContext(i.ID)},
		{&s.Previous, i.PreviousSecret, SecretContext(i.ID)},
		{&s.Pending, i.PendingSecret, SecretContext(i.ID)},
		{&s.RemoteKey, i.RemoteKey, RemoteKeyContext(i.ID)},
		{&s.PreviousRemoteKey, i.PreviousRemoteKey, RemoteKeyContext(i.ID)},
	} {
		if len(field.sealed) == 0 {
			continue
		}
		plain, err := box.Open(field.sealed, field.context)
		if err != nil {
			return Secrets{}, fmt.Errorf("opening a secret of integration %s: %w", i.ID, err)
		}
		*field.plain = string(plain)
	}
	if i.PreviousSecretExpiresAt != nil {
		s.previousExpiresAt = *i.PreviousSecretExpiresAt
	}
	return s, nil
}

// Connection returns the integration as connectors see it at a time. It signs with the
// current secret and verifies with all valid ones. The pending secret is among these:
// the peer may already have it from a registration under way.
func (s Secrets) Connection(i *Integration, localProduct string, now time.Time) hub.Connection {
	c := hub.Connection{
		ID: i.ID, Product: i.Product, LocalProduct: localProduct, Environment: i.Environment, URL: i.APIURL, WebhookURL: i.PeerWebhookURL,
		Key: s.RemoteKey, Now: now,
	}
	if s.Current != "" {
		c.Secrets = append(c.Secrets, s.Current)
	}
	if s.Previous != "" && now.Before(s.previousExpiresAt) {
		c.Secrets = append(c.Secrets, s.Previous)
	}
	if s.Pending != "" && s.Pending != s.Current {
		c.Secrets = append(c.Secrets, s.Pending)
	}
	return c
}

// rotationOverlapSeconds returns RotationOverlap as it is stored: only with a pending secret.
func (i *Integration) rotationOverlapSeconds() *int32 {
	if i.RotationOverlap == nil || len(i.PendingSecret) == 0 {
		return nil
	}
	return new(int32(i.RotationOverlap.Seconds()))
}

func rotationOverlap(seconds *int32) *time.Duration {
	if seconds == nil {
		return nil
	}
	return new(time.Duration(*seconds) * time.Second)
}

// SealSecret encrypts a webhook secret of the integration.
func (i *Integration) SealSecret(box Sealer, secret string) []byte {
	return box.Seal([]byte(secret), SecretContext(i.ID))
}

// SealRemoteKey encrypts a key that the peer issued for us.
func (i *Integration) SealRemoteKey(box Sealer, key string) []byte {
	return box.Seal([]byte(key), RemoteKeyContext(i.ID))
}

// SealLocalKey encrypts our key for the peer.
func (i *Integration) SealLocalKey(box Sealer, key string) []byte {
	return box.Seal([]byte(key), LocalKeyContext(i.ID))
}

// OpenPendingLocalKey decrypts our key that the next registration brings the peer.
func (i *Integration) OpenPendingLocalKey(box Opener) (string, error) {
	if len(i.PendingLocalKey) == 0 {
		return "", nil
	}
	plain, err := box.Open(i.PendingLocalKey, LocalKeyContext(i.ID))
	return string(plain), err
}

// SecretContext returns the context that an integration's webhook secrets are encrypted
// under. Contexts belong to the stored data: a changed one opens nothing any more.
func SecretContext(id uuid.UUID) string { return "integration/" + id.String() + "/secret" }

// RemoteKeyContext returns the context of the peer's keys for us.
func RemoteKeyContext(id uuid.UUID) string { return "integration/" + id.String() + "/remote-key" }

// LocalKeyContext returns the context of our key for the peer.
func LocalKeyContext(id uuid.UUID) string { return "integration/" + id.String() + "/local-key" }
