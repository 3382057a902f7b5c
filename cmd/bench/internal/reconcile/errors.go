package reconcile

import "errors"

// ErrUnsound says that what was stored or delivered is not what was accepted.
var ErrUnsound = errors.New("the ledger does not hold")
