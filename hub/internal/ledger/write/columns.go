package write

import (
	"slices"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/store/bulk"
)

// Columns that every statement about an attempt begins with: the delivery's id and
// then ledger.AttemptColumns.
const (
	colDeliveryID = iota
	colStartedAt
	colQueueUS
	colDNSUS
	colConnectUS
	colTLSUS
	colFirstByteUS
	colTotalUS
	colStatusCode
	colSignature
	colResponseHeaders
	colResponseBody
	attemptColumnCount
)

// attemptTypes are the types of the columns of an attempt.
var attemptTypes = []uint32{
	colDeliveryID: bulk.UUIDs, colStartedAt: bulk.Times, colQueueUS: bulk.Int8s, colDNSUS: bulk.Int4s, colConnectUS: bulk.Int4s,
	colTLSUS: bulk.Int4s, colFirstByteUS: bulk.Int4s, colTotalUS: bulk.Int4s, colStatusCode: bulk.Int2s, colSignature: bulk.Byteas,
	colResponseHeaders: bulk.Byteas, colResponseBody: bulk.Byteas,
}

// addAttempt appends an attempt's values to columns that begin with attemptTypes.
func addAttempt(c bulk.Columns, a *delivery.AttemptResult) {
	c[colDeliveryID].UUID(a.ID)
	c[colStartedAt].Time(a.StartedAt)
	c[colQueueUS].Int8(max(0, a.QueueTime.Microseconds()))
	c[colDNSUS].Int4(micros(a.Phases.DNS))
	c[colConnectUS].Int4(micros(a.Phases.Connect))
	c[colTLSUS].Int4(micros(a.Phases.TLS))
	c[colFirstByteUS].Int4(micros(a.Phases.FirstByte))
	c[colTotalUS].Int4(micros(a.Phases.Total))
	appendStatusCode(&c[colStatusCode], a.StatusCode)
	c[colSignature].Bytes(a.Signature[:])
	c[colResponseHeaders].Bytes(a.ResponseHeader)
	c[colResponseBody].Bytes(a.ResponseBody)
}

// Columns of a delivery and its event, counted from the first of them.
const (
	colEventID = iota
	colTenantID
	colTargetID
	colEnvironment
	colProduct
	colEventType
	colCorrelationID
	colCreatedAt
	colIntegration
	deliveryColumnCount
)

var deliveryTypes = []uint32{
	colEventID: bulk.Int8s, colTenantID: bulk.UUIDs, colTargetID: bulk.UUIDs, colEnvironment: bulk.Texts, colProduct: bulk.Texts,
	colEventType: bulk.Texts, colCorrelationID: bulk.Texts, colCreatedAt: bulk.Times, colIntegration: bulk.Bools,
}

// addDelivery appends a delivery's values and those of its event to columns of deliveryTypes.
func addDelivery(c bulk.Columns, a *delivery.AttemptResult) {
	c[colEventID].Int8(a.Event.IDBits)
	c[colTenantID].UUID(a.Event.TenantID)
	c[colTargetID].UUID(a.TargetID)
	c[colEnvironment].Text(string(a.Event.Environment))
	c[colProduct].Text(a.Event.Product)
	c[colEventType].Text(a.Event.Type)
	c[colCorrelationID].OptionalText(a.Event.CorrelationID)
	c[colCreatedAt].Time(logid.Time(a.ID))
	c[colIntegration].Bool(a.IsIntegration)
}

// A delivery that is inserted together with its first attempt has the attempt's columns, the
// delivery's, and its ordering key.
const colInsertOrderingKey = attemptColumnCount + deliveryColumnCount

var insertTypes = slices.Concat(attemptTypes, deliveryTypes, []uint32{bulk.Texts})

// An update of deliveries has one more column, with one value: the minute of the statistics.
const colUpdateMinute = attemptColumnCount

var deliveredUpdateTypes = append(attemptTypes[:attemptColumnCount:attemptColumnCount], bulk.Times)

// Further columns of an attempt that gets a row of its own.
const (
	colAttemptNumber = attemptColumnCount + iota
	colAttemptError
	colAttemptCounted // null unless the attempt's delivery is kept
	colAttemptWaitMS  // likewise
)

var attemptRowTypes = append(attemptTypes[:attemptColumnCount:attemptColumnCount], bulk.Int4s, bulk.Texts, bulk.Int2s, bulk.Int4s)

// Further columns of a delivery that is inserted with the state in which an attempt left it, after
// those of the state and the delivery.
const (
	colInsertPriority = stateColumnCount + deliveryColumnCount + iota
	colInsertPriorAttempts
)

var insertWithStateTypes = slices.Concat(stateTypes, deliveryTypes, []uint32{bulk.Int2s, bulk.Int4s})

// Columns of a pending delivery whose row is inserted.
const (
	colPendingID = iota
	colPendingTargetID
	colPendingIntegration
	colPendingOrderingKey
)

var pendingTypes = []uint32{colPendingID: bulk.UUIDs, colPendingTargetID: bulk.UUIDs, colPendingIntegration: bulk.Bools, colPendingOrderingKey: bulk.Texts}

// Columns of a delivery's new state.
const (
	colStateID = iota
	colStateStatus
	colStateSent
	colStateSpent
	colStateStatusCode
	colStateDurationMS
	colStateReason
	colStateWaitMS
	stateColumnCount
)

var stateTypes = []uint32{
	colStateID: bulk.UUIDs, colStateStatus: bulk.Int2s, colStateSent: bulk.Int2s, colStateSpent: bulk.Int2s, colStateStatusCode: bulk.Int2s,
	colStateDurationMS: bulk.Int4s, colStateReason: bulk.Texts, colStateWaitMS: bulk.Int4s,
}

// As colUpdateMinute.
const colStateMinute = stateColumnCount

var stateUpdateTypes = append(stateTypes[:stateColumnCount:stateColumnCount], bulk.Times)

// Columns of a delta of the statistics.
const (
	colDeltaBucket = iota
	colDeltaTenantID
	colDeltaTargetID
	colDeltaProduct
	colDeltaDelivered
	colDeltaFailed
	colDeltaParked
	colDeltaAttempts
	colDeltaErrors
	colDeltaLatency
)

var deltaTypes = []uint32{
	colDeltaBucket: bulk.Times, colDeltaTenantID: bulk.UUIDs, colDeltaTargetID: bulk.UUIDs, colDeltaProduct: bulk.Texts,
	colDeltaDelivered: bulk.Int4s, colDeltaFailed: bulk.Int4s, colDeltaParked: bulk.Int4s, colDeltaAttempts: bulk.Int4s,
	colDeltaErrors: bulk.Int4s, colDeltaLatency: bulk.Texts,
}
