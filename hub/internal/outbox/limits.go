package outbox

import (
	"errors"

	"integrationhub/hub"
)

// errTooManyDeliveries is the cause of the refusal of a request that would make more
// deliveries than its tenant may make at once.
var errTooManyDeliveries = errors.New("too many deliveries of one request")

// errFiltersTooExpensive refuses a request whose filters cost more than [maxRequestCost].
var errFiltersTooExpensive = hub.Errorf(hub.ErrInvalid, "filters_too_expensive", "The filters of the endpoints cost too much for so many events; publish fewer of them at once, or simplify the filters.")

// tooManyDeliveries returns the refusal of a request with more deliveries than a limit.
func tooManyDeliveries(limit int) error {
	return hub.Errorf(hub.ErrInvalid, "too_many_deliveries", "These events would make more than %d deliveries; publish fewer of them at once, or have an operator raise the tenant's limit.", limit).
		WithCause(errTooManyDeliveries)
}
