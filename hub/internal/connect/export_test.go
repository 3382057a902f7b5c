package connect

import "context"

// WinsOver exports the decision between the secrets of two handshakes.
var WinsOver = winsOver

// Outdated is the look of a process at all integrations after its start.
type Outdated struct{ outdatedLook }

// Look makes the look if it is due.
func (o *Outdated) Look(ctx context.Context, s *Service) error { return o.look(ctx, s) }
