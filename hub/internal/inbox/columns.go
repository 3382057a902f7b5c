package inbox

import "integrationhub/hub/internal/store/bulk"

// Columns of a received event.
const (
	colReceivedIntegrationID = iota
	colReceivedEventID
	colReceivedTenantID
	colReceivedBodyHash
	colReceivedEventType
	colReceivedIgnored
	colReceivedSeq
)

var receivedTypes = []uint32{
	colReceivedIntegrationID: bulk.UUIDs,
	colReceivedEventID:       bulk.Int8s,
	colReceivedTenantID:      bulk.UUIDs,
	colReceivedBodyHash:      bulk.Byteas,
	colReceivedEventType:     bulk.Texts,
	colReceivedIgnored:       bulk.Bools,
	colReceivedSeq:           bulk.UUIDs,
}

// Columns of an event in the log.
const (
	colEventSeq = iota
	colEventEventID
	colEventTenantID
	colEventEnvironment
	colEventProduct
	colEventEventType
	colEventCorrelationID
	colEventBody
	colEventSubjects
)

var eventTypes = []uint32{
	colEventSeq:           bulk.UUIDs,
	colEventEventID:       bulk.Int8s,
	colEventTenantID:      bulk.UUIDs,
	colEventEnvironment:   bulk.Texts,
	colEventProduct:       bulk.Texts,
	colEventEventType:     bulk.Texts,
	colEventCorrelationID: bulk.Texts,
	colEventBody:          bulk.Byteas,
	colEventSubjects:      bulk.Texts,
}

// Columns of an inbound delivery.
const (
	colDeliveryID = iota
	colDeliveryEventID
	colDeliveryTenantID
	colDeliveryTargetID
	colDeliveryEnvironment
	colDeliveryProduct
	colDeliveryEventType
	colDeliveryCorrelationID
	colDeliveryResponseBody
	colDeliveryStatus
	colDeliveryStatusCode
	colDeliveryReason
)

var deliveryTypes = []uint32{
	colDeliveryID:            bulk.UUIDs,
	colDeliveryEventID:       bulk.Int8s,
	colDeliveryTenantID:      bulk.UUIDs,
	colDeliveryTargetID:      bulk.UUIDs,
	colDeliveryEnvironment:   bulk.Texts,
	colDeliveryProduct:       bulk.Texts,
	colDeliveryEventType:     bulk.Texts,
	colDeliveryCorrelationID: bulk.Texts,
	colDeliveryResponseBody:  bulk.Byteas,
	colDeliveryStatus:        bulk.Int2s,
	colDeliveryStatusCode:    bulk.Int2s,
	colDeliveryReason:        bulk.Texts,
}

// Columns of an inbound delivery that failed before.
const (
	colRedeliveryID = iota
	colRedeliveryResponseBody
)

var redeliveryTypes = []uint32{
	colRedeliveryID:           bulk.UUIDs,
	colRedeliveryResponseBody: bulk.Byteas,
}

// Columns of a requested erasure.
const (
	colErasureSeq = iota
	colErasureTenantID
	colErasureEnvironment
)

var erasureTypes = []uint32{
	colErasureSeq:         bulk.UUIDs,
	colErasureTenantID:    bulk.UUIDs,
	colErasureEnvironment: bulk.Texts,
}
