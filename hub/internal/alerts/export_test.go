package alerts

import "context"

// SignalFailing is the part of a tick that finds endpoints that fail or recovered.
func (p *Publisher) SignalFailing(ctx context.Context) error { return p.signalFailing(ctx) }

// SignalExpiringKeys is the part of a tick that finds keys that end.
func (p *Publisher) SignalExpiringKeys(ctx context.Context) error { return p.signalExpiringKeys(ctx) }

// SignalInboxes is the part of a tick that looks into inboxes.
func (p *Publisher) SignalInboxes(ctx context.Context) error { return p.signalInboxes(ctx) }

// Forget is the part of a tick that deletes what no episode needs.
func (p *Publisher) Forget(ctx context.Context) error { return p.forget(ctx) }

// DetectedPerTick is how many endpoints one tick publishes at most.
const DetectedPerTick = detectedPerTick

// SignalsPerTenant is how many signals of a tenant one tick publishes at most.
const SignalsPerTenant = signalsPerTenant

// InboxesPerPage is how many inboxes of a product are read at once.
const InboxesPerPage = inboxesPerPage
