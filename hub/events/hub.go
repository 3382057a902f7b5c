package events

import "time"

// Types of the hub's operational events: what happens to a tenant's endpoints, integrations
// and keys.
const (
	TypeEndpointFailing      = "hub.endpoint.failing"
	TypeEndpointRecovered    = "hub.endpoint.recovered"
	TypeEndpointDisabled     = "hub.endpoint.disabled"
	TypeEndpointAbandoned    = "hub.endpoint.abandoned"
	TypeDeliveryParked       = "hub.delivery.parked"
	TypeIntegrationError     = "hub.integration.error"
	TypeIntegrationRecovered = "hub.integration.recovered"
	TypeKeyExpiring          = "hub.key.expiring"
	TypeInboxWaiting         = "hub.inbox.waiting"
)

// FromHub returns the types of the hub's operational events.
func FromHub() []string {
	return []string{
		TypeEndpointFailing, TypeEndpointRecovered, TypeEndpointDisabled, TypeEndpointAbandoned, TypeDeliveryParked,
		TypeIntegrationError, TypeIntegrationRecovered, TypeKeyExpiring, TypeInboxWaiting,
	}
}

// HubSubject says whose event it is. It is part of every operational event.
type HubSubject struct {
	TenantID    string `json:"tenant_id"`
	TenantName  string `json:"tenant_name"`
	Product     string `json:"product"` // of the tenant
	Environment string `json:"environment"`
}

// EndpointFailing says that no attempt at an endpoint succeeded for a while.
type EndpointFailing struct {
	HubSubject
	EndpointID   string    `json:"endpoint_id"`
	URL          string    `json:"url"` // without its query
	FailingSince time.Time `json:"failing_since"`
	Attempts     int       `json:"attempts"` // that failed since then
}

// EndpointRecovered says that a failing endpoint takes deliveries again.
type EndpointRecovered struct {
	HubSubject
	EndpointID   string    `json:"endpoint_id"`
	URL          string    `json:"url"`
	FailingSince time.Time `json:"failing_since"`
	RecoveredAt  time.Time `json:"recovered_at"`
}

// EndpointDisabled says that the hub disabled an endpoint, because it responded 410.
type EndpointDisabled struct {
	HubSubject
	EndpointID string    `json:"endpoint_id"`
	URL        string    `json:"url"`
	Reason     string    `json:"reason"` // gone
	DisabledAt time.Time `json:"disabled_at"`
}

// EndpointAbandoned says that an endpoint was disabled for 15 days: events make no deliveries
// to it any more.
type EndpointAbandoned struct {
	HubSubject
	EndpointID  string    `json:"endpoint_id"`
	URL         string    `json:"url"`
	DisabledAt  time.Time `json:"disabled_at"`
	AbandonedAt time.Time `json:"abandoned_at"`
}

// DeliveryParked says that the first delivery of an episode was parked: others may follow.
type DeliveryParked struct {
	HubSubject
	EndpointID    string `json:"endpoint_id,omitempty"`    // of the receiver, where it is an endpoint
	IntegrationID string `json:"integration_id,omitempty"` // of the receiver, where it is an integration
	URL           string `json:"url"`
	DeliveryID    string `json:"delivery_id"`
	ParkedType    string `json:"event_type"` // of the event that was parked
	Reason        string `json:"reason"`
}

// IntegrationError says that the peer of an integration fails.
type IntegrationError struct {
	HubSubject
	IntegrationID string    `json:"integration_id"`
	Peer          string    `json:"peer"` // the product on the other side
	Error         string    `json:"error"`
	ErrorSince    time.Time `json:"error_since"`
}

// IntegrationRecovered says that an integration that failed is active again.
type IntegrationRecovered struct {
	HubSubject
	IntegrationID string    `json:"integration_id"`
	Peer          string    `json:"peer"`
	ErrorSince    time.Time `json:"error_since"`
	RecoveredAt   time.Time `json:"recovered_at"`
}

// KeyExpiring says that an API key ends within seven days.
type KeyExpiring struct {
	HubSubject
	KeyID     string    `json:"key_id"`
	Name      string    `json:"name"`
	Last4     string    `json:"last4"` // how the key ends
	ExpiresAt time.Time `json:"expires_at"`
}

// InboxWaiting says that entries of a product's inbox wait for a person.
type InboxWaiting struct {
	HubSubject
	Waiting     int       `json:"waiting"`
	OldestSince time.Time `json:"oldest_since"`
}

// EventType implements [Data].
func (EndpointFailing) EventType() string { return TypeEndpointFailing }

// OrderingKey implements [Data].
func (e EndpointFailing) OrderingKey() string { return e.EndpointID }

// EventType implements [Data].
func (EndpointRecovered) EventType() string { return TypeEndpointRecovered }

// OrderingKey implements [Data].
func (e EndpointRecovered) OrderingKey() string { return e.EndpointID }

// EventType implements [Data].
func (EndpointDisabled) EventType() string { return TypeEndpointDisabled }

// OrderingKey implements [Data].
func (e EndpointDisabled) OrderingKey() string { return e.EndpointID }

// EventType implements [Data].
func (EndpointAbandoned) EventType() string { return TypeEndpointAbandoned }

// OrderingKey implements [Data].
func (e EndpointAbandoned) OrderingKey() string { return e.EndpointID }

// EventType implements [Data].
func (DeliveryParked) EventType() string { return TypeDeliveryParked }

// OrderingKey implements [Data]. One of the two ids is there.
func (e DeliveryParked) OrderingKey() string { return e.EndpointID + e.IntegrationID }

// EventType implements [Data].
func (IntegrationError) EventType() string { return TypeIntegrationError }

// OrderingKey implements [Data].
func (e IntegrationError) OrderingKey() string { return e.IntegrationID }

// EventType implements [Data].
func (IntegrationRecovered) EventType() string { return TypeIntegrationRecovered }

// OrderingKey implements [Data].
func (e IntegrationRecovered) OrderingKey() string { return e.IntegrationID }

// EventType implements [Data].
func (KeyExpiring) EventType() string { return TypeKeyExpiring }

// OrderingKey implements [Data].
func (e KeyExpiring) OrderingKey() string { return e.KeyID }

// EventType implements [Data].
func (InboxWaiting) EventType() string { return TypeInboxWaiting }

// OrderingKey implements [Data]. Inboxes have no id.
func (InboxWaiting) OrderingKey() string { return "" }
