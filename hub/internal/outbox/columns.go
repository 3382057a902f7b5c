package outbox

import "integrationhub/hub/internal/store/bulk"

// Columns of an event that is inserted.
const (
	colEventSeq = iota
	colEventEventID
	colEventTenantID
	colEventEnvironment
	colEventProduct
	colEventEventType
	colEventCorrelationID
	colEventDeliveries
	colEventBody
	colEventSubjects
	colEventOrderingKey
	colEventPriority // only where one is not normal
)

var eventTypes = []uint32{colEventSeq: bulk.UUIDs, colEventEventID: bulk.Int8s, colEventTenantID: bulk.UUIDs, colEventEnvironment: bulk.Texts, colEventProduct: bulk.Texts, colEventEventType: bulk.Texts, colEventCorrelationID: bulk.Texts, colEventDeliveries: bulk.Int4s, colEventBody: bulk.Byteas, colEventSubjects: bulk.Texts, colEventOrderingKey: bulk.Texts}

// Columns of a delivery that is inserted.
const (
	colDeliveryID = iota
	colDeliveryEventID
	colDeliveryTenantID
	colDeliveryTargetID
	colDeliveryEnvironment
	colDeliveryProduct
	colDeliveryEventType
	colDeliveryCorrelationID
	colDeliveryIntegration
	colDeliveryPriority    // only where one is not normal, or may not be due at once
	colDeliveryOrderingKey // only of those that may not be due at once
	colDeliveryBehind      // the same: others of its key go first
	colDeliveryHeld        // the same: a person's deletion
)

var deliveryTypes = []uint32{colDeliveryID: bulk.UUIDs, colDeliveryEventID: bulk.Int8s, colDeliveryTenantID: bulk.UUIDs, colDeliveryTargetID: bulk.UUIDs, colDeliveryEnvironment: bulk.Texts, colDeliveryProduct: bulk.Texts, colDeliveryEventType: bulk.Texts, colDeliveryCorrelationID: bulk.Texts, colDeliveryIntegration: bulk.Bools}

// Columns of a delta of the statistics.
const (
	colDeltaBucket = iota
	colDeltaTenantID
	colDeltaTargetID
	colDeltaProduct
	colDeltaAccepted
)

var deltaTypes = []uint32{colDeltaBucket: bulk.Times, colDeltaTenantID: bulk.UUIDs, colDeltaTargetID: bulk.UUIDs, colDeltaProduct: bulk.Texts, colDeltaAccepted: bulk.Int4s}

// Columns of a lease.
const (
	colLeaseID = iota
	colLeaseDeliveries
)

// Columns of a requested erasure.
const (
	colErasureSeq = iota
	colErasureTenantID
	colErasureEnvironment
)
