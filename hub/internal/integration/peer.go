package integration

import (
	"time"

	"integrationhub/hub"
	"integrationhub/hub/events"
)

// Peer is an integration ready to send to and receive from: its secrets are decrypted
// and its connector is at hand. It is immutable and safe for concurrent use.
type Peer struct {
	Integration
	Connector hub.Connector

	localProduct string
	secrets      Secrets
	sends        []string // event types that the peer's product accepts at all
}

// NewPeer decrypts an integration's secrets with box. localProduct is the product of
// the integration's tenant.
func NewPeer(i Integration, localProduct string, connector hub.Connector, box Opener) (*Peer, error) {
	secrets, err := i.OpenSecrets(box)
	if err != nil {
		return nil, err
	}
	return &Peer{Integration: i, Connector: connector, localProduct: localProduct, secrets: secrets, sends: connector.Spec().Sends}, nil
}

// Connection returns the integration as its connector sees it at a time.
func (p *Peer) Connection(now time.Time) hub.Connection {
	return p.secrets.Connection(&p.Integration, p.localProduct, now)
}

// Accepts reports whether events of a type are delivered to the peer or parked for it.
// Once abandoned, only [events.TypePatientDeleted] is parked: the peer may still have that
// patient's data and must learn of the deletion.
func (p *Peer) Accepts(eventType string) bool {
	return hub.MatchesEventType(p.sends, eventType) && (p.AbandonedAt == nil || eventType == events.TypePatientDeleted)
}
