package ledger

import "time"

// MaxParkedAge is how long a delivery stays parked before it fails.
const MaxParkedAge = 15 * 24 * time.Hour

// FirstTrialWaitSQL is an SQL interval: how long a target that refused a delivery to the end
// is left alone until one of its parked deliveries is tried.
const FirstTrialWaitSQL = `interval '30 seconds' * (0.9 + 0.2 * random())`
