package outbox

import (
	"context"
	"errors"

	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/eventtype"
	"integrationhub/hub/module"
)

// errDisagrees is the cause of the refusal of an event whose data does not agree with the
// schema of its type.
var errDisagrees = errors.New("the data does not agree with the schema of its type")

// withoutWaiting is a context that has ended.
var withoutWaiting = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// validate returns the refusal of a publication by its product's validation as cached now.
// Its data was checked when it came: it is checked again only if the configuration has
// changed since. That is part of a commit, which waits for no turn: large data without one is a
// [hub.ErrUnavailable], and its publisher sends it again.
func (p *Publication) validate(now *directory.Validation) error {
	if now != p.Key.Validation {
		if p.Violations = nil; now != nil {
			var err error
			if p.Violations, err = now.Check(withoutWaiting, p.Key.TenantID, p.Type, p.Data, p.Allowance); err != nil {
				return err //nolint:wrapcheck // says what to do
			}
		}
	}
	if now == nil || !now.Rejects || len(p.Violations) == 0 {
		return nil
	}
	return eventtype.Refuse(p.Location+".data", p.Violations).WithCause(errDisagrees)
}

// countViolations counts the publications of a request that completed with err.
func (o *Outbox) countViolations(publications []*Publication, err error) {
	outcome := eventtype.OutcomeWarned
	if errors.Is(err, errDisagrees) {
		outcome = eventtype.OutcomeRefused
	} else if err != nil {
		return
	}
	invalid := 0
	for _, p := range publications {
		if len(p.Violations) > 0 {
			invalid++
		}
	}
	if invalid > 0 {
		o.recorder.CountInvalid(publications[0].Product, outcome, invalid)
	}
}

// countDisagreement counts an event of a hosted product that does not agree with its type.
// Plain webhooks of some products get data of their own under the same names.
func (o *Outbox) countDisagreement(p *Publication) {
	if o.types == nil || p.Audience.Receivers == module.EndpointsOnly {
		return
	}
	if violations := o.types.Check(p.Product, p.Type, p.Data); len(violations) > 0 {
		o.recorder.CountInvalid(p.Product, eventtype.OutcomeAccepted, 1)
		o.log.Warn("an event does not agree with its schema", "product", p.Product, "event_type", p.Type, "location", "data"+violations[0].Path, "rule", violations[0].Message)
	}
}
