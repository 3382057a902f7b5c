package registry

import "github.com/google/uuid"

// What an integration's secrets are sealed under: [seal.Box.Open] needs it.

// IntegrationSecretContext is that of its webhook secrets.
func IntegrationSecretContext(id uuid.UUID) string { return "integration/" + id.String() + "/secret" }

// RemoteKeyContext is that of the peer's keys for us.
func RemoteKeyContext(id uuid.UUID) string { return "integration/" + id.String() + "/remote-key" }

// LocalKeyContext is that of our key for the peer, kept until the peer has it.
func LocalKeyContext(id uuid.UUID) string { return "integration/" + id.String() + "/local-key" }
