package store

import "integrationhub/clinic/internal/store/dbgen"

// DeletionRequest is a row of clinic.deletion_requests.
type DeletionRequest = dbgen.DeletionRequest

// DeletionPeer is a row of clinic.deletion_peers: a connected product in a deletion request.
type DeletionPeer = dbgen.DeletionPeer
