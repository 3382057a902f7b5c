// Package integration is the domain of integrations: a tenant's connection to a peer
// product, its states and transitions, its secrets, and how it is stored. Package
// connect carries out the handshake on top of it. Packages directory and delivery use
// it without knowing the handshake.
package integration

import (
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
)

// Identity names an integration: a tenant has one with each product and environment.
type Identity struct {
	TenantID    uuid.UUID
	Environment hub.Environment
	Product     string // the peer's
}

// Integration is a tenant's connection to a peer product. Secrets and keys in it are
// encrypted with the master key; [Integration.OpenSecrets] decrypts them.
type Integration struct {
	ID uuid.UUID // also the registration_id that the peer receives
	Identity

	Status    Status
	Disabled  bool   // by an administrator of ours: the peer cannot change it
	LastError string // for people; "" = none

	APIURL         string   // base of the peer's API, above /integrations; "" = unknown
	WebhookURL     string   // where we receive the peer's events
	PeerWebhookURL string   // where the peer receives ours, or ""
	EventTypes     []string // that the peer subscribed to; * = all
	Features       []string // that the peer offers
	Uses           []string // that our administrator asked for, e.g. reminders
	Ordered        bool     // the peer gets the events of one ordering key one at a time

	// The pending secret and key are what a registration under way brings the peer.
	// They come into force when it succeeds; what they replace stays valid for an overlap.
	Secret                  []byte
	PreviousSecret          []byte
	PreviousSecretExpiresAt *time.Time
	PendingSecret           []byte
	RotationOverlap         *time.Duration // set while PendingSecret is a rotation's: how long the one before stays valid
	RemoteKey               []byte         // the peer's key, for our calls
	RemoteKeyLast4          string
	PreviousRemoteKey       []byte // tried when the peer refuses RemoteKey
	IsLink                  bool   // this hub issued RemoteKey, for a link of two of its accounts
	PendingLocalKey         []byte // our key for the peer, until the peer has it
	PendingLocalKeyID       *uuid.UUID

	PeerIntegrationID string     // the peer's own id of this connection, or ""
	PeerAccount       string     // the peer's account, as its status names it; "" = unknown
	AccountSince      *time.Time // when another account's integration ended here; nil = never

	Handshake            int32      // number of the newest handshake
	Rotations            int32      // of the webhook secret that were begun
	NextRegistrationAt   *time.Time // nil = none is due
	RegistrationFailures int32      // of our registration, in a row
	RegisteredAt         *time.Time // the last success of our registration
	RegisteredEvents     []string   // that it subscribed to; nil = not known
	PeerRegisteredAt     *time.Time // when the peer last registered with us

	LastHealthCheck *time.Time
	NextProbeAt     *time.Time // nil = not probed
	ProbeFailures   int32      // in a row
	ProbeSuccesses  int32      // in a row, since the status became error
	KeyRefusedSince *time.Time // since when the peer refuses RemoteKey

	// AbandonedAt is when an inactive integration stopped collecting events; nil = it collects.
	// The database sets it to nil when the integration is in use again.
	AbandonedAt *time.Time

	RevokedAt *time.Time
	CreatedAt time.Time
	UpdatedAt time.Time
}

// IsReachable reports whether the peer can be called: its address and key are known.
// A peer that only registered its webhook_url can be sent events but not called.
func (i *Integration) IsReachable() bool { return i.APIURL != "" && len(i.RemoteKey) > 0 }

// isRegistered reports whether either side holds a registration of the other.
func (i *Integration) isRegistered() bool {
	return i.RegisteredAt != nil || i.PeerRegisteredAt != nil
}

// IsLinked reports whether the integration is registered or being registered. It stays
// linked while it is disabled or failing; revoking and disconnecting end it.
func (i *Integration) IsLinked() bool {
	return i.RevokedAt == nil && (i.isRegistered() || i.NextRegistrationAt != nil)
}

// IsPaused reports whether the integration is in [StatePaused].
func (i *Integration) IsPaused() bool { return i.State() == StatePaused }

// HasSubscriptions reports whether events are delivered to the peer or parked for it.
func (i *Integration) HasSubscriptions() bool {
	switch i.State() {
	case StateActive, StateFailing, StatePaused:
		return true
	}
	return false
}

// PredatesAccount reports whether an event accepted at a time was meant for an earlier
// account of the peer's product: the present one must not receive it.
func (i *Integration) PredatesAccount(accepted time.Time) bool {
	return i.AccountSince != nil && accepted.Before(*i.AccountSince)
}
