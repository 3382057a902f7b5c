package store

import "integrationhub/clinic/internal/store/dbgen"

// InboxEntry is a row of clinic.inbox: an event that waits for a user, or did.
type InboxEntry = dbgen.InboxEntry

// Linking is a row of clinic.linkings: entries that a job is linking to a patient.
type Linking = dbgen.Linking
