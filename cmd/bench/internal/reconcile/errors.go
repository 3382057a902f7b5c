package reconcile

import "errors"

var ErrUnsound = errors.New("the ledger does not hold")
