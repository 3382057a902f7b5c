package store

import "integrationhub/scheduling/internal/store/dbgen"

// WaitlistEntry is a row of scheduling.waitlist.
type WaitlistEntry = dbgen.WaitlistEntry
