package write

import (
	"integrationhub/hub/internal/delivery"
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

// Further columns of a delivery that is inserted together with its first attempt.
const (
	colInsertEventID = attemptColumnCount + iota
	colInsertTenantID
	colInsertTargetID
	colInsertEnvironment
	colInsertProduct
	colInsertEventType
	colInsertCorrelationID
	colInsertCreatedAt
	colInsertIntegration
	colInsertOrderingKey
)

var insertTypes = append(attemptTypes[:attemptColumnCount:attemptColumnCount],
	bulk.Int8s, bulk.UUIDs, bulk.UUIDs, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Texts, bulk.Times, bulk.Bools, bulk.Texts)

// Further columns of an attempt that gets a row of its own.
const (
	colAttemptNumber = attemptColumnCount + iota
	colAttemptError
)

var attemptRowTypes = append(attemptTypes[:attemptColumnCount:attemptColumnCount], bulk.Int4s, bulk.Texts)

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
)

var stateTypes = []uint32{
	colStateID: bulk.UUIDs, colStateStatus: bulk.Int2s, colStateSent: bulk.Int2s, colStateSpent: bulk.Int2s, colStateStatusCode: bulk.Int2s,
	colStateDurationMS: bulk.Int4s, colStateReason: bulk.Texts, colStateWaitMS: bulk.Int4s,
}

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
