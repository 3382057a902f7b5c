package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/mail"
	"integrationhub/hub/internal/outbox"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

// Config holds the dependencies and settings of a [Publisher].
type Config struct {
	DB           *pgxpool.Pool
	Outbox       *outbox.Outbox
	Directory    *directory.Directory
	Mail         *mail.Outbox
	Log          *slog.Logger
	Now          func() time.Time
	FailingAfter time.Duration          // for which every attempt at an endpoint must fail
	ConsoleURL   string                 // without a slash at the end; mails link into it
	OnPublished  func(eventType string) // called after the commit, for each event
}

// Publisher detects what operational events are about, as far as no change signals it, and
// publishes them. Every process may run one.
type Publisher struct {
	Config
	inboxes atomic.Pointer[map[string]module.InboxReporter] // by product; nil: none
	looked  time.Time                                       // when keys and inboxes were looked at
}

// NewPublisher returns a publisher; [Publisher.Run] runs it.
func NewPublisher(c Config) *Publisher { return &Publisher{Config: c} }

const (
	tickInterval = time.Second
	lookInterval = time.Minute // of keys and inboxes
)

// Run publishes until ctx ends.
func (p *Publisher) Run(ctx context.Context) {
	tick := time.NewTicker(tickInterval)
	defer tick.Stop()
	isFailing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := p.Tick(ctx)
		if err != nil && !isFailing && ctx.Err() == nil {
			p.Log.Warn("publishing operational events failed; trying again", "error", err)
		}
		isFailing = err != nil
	}
}

// Tick detects and publishes what is due now. What one part cannot do keeps the others from
// nothing.
func (p *Publisher) Tick(ctx context.Context) error {
	errs := []error{p.signalFailing(ctx)}
	if now := p.Now(); now.Sub(p.looked) >= lookInterval {
		p.looked = now
		errs = append(errs, p.signalExpiringKeys(ctx), p.signalInboxes(ctx), p.forget(ctx))
	}
	errs = append(errs, p.publishDue(ctx), p.writeMails(ctx))
	return errors.Join(errs...)
}

// publishDue publishes signals, a bounded number of them.
func (p *Publisher) publishDue(ctx context.Context) error {
	var hasSignals bool
	if err := p.DB.QueryRow(ctx, `select exists (select from hub.signals where due_at <= now())`).Scan(&hasSignals); err != nil || !hasSignals {
		return err
	}
	receivers, err := p.loadReceivers(ctx)
	if err != nil {
		return err
	}
	var choice signalChoice
	taken := make(map[uuid.UUID]int) // by tenant
	for range roundsPerTick {
		signals, err := p.publishRound(ctx, receivers, choice)
		if err != nil {
			return p.publishOneByOne(ctx, receivers, signals, err)
		}
		if len(signals) == 0 {
			return nil
		}
		choice.without = nil
		for _, s := range signals {
			taken[s.tenantID]++
		}
		for tenant, count := range taken {
			if count >= signalsPerTenant {
				choice.without = append(choice.without, tenant)
			}
		}
	}
	return nil
}

// publishOneByOne publishes signals apart, after a round of them failed. Those that fail again
// are tried later, and hold up no others.
func (p *Publisher) publishOneByOne(ctx context.Context, receivers []receiver, signals []signal, cause error) error {
	if len(signals) == 0 || ctx.Err() != nil {
		return cause
	}
	for _, s := range signals {
		if _, err := p.publishRound(ctx, receivers, signalChoice{ids: []int64{s.id}}); err != nil {
			p.Log.Warn("publishing an operational event failed; trying again in a minute", "signal", s.id, "error", err)
			if _, err := p.DB.Exec(ctx, `update hub.signals set due_at = now() + $2 where id = $1`, s.id, signalRetryWait); err != nil {
				return fmt.Errorf("postponing a signal: %w", err)
			}
		}
	}
	return nil
}

// publishRound publishes some signals and deletes them, in one transaction. It returns them also
// where that failed.
func (p *Publisher) publishRound(ctx context.Context, receivers []receiver, choice signalChoice) (signals []signal, err error) {
	var published []string
	err = pgx.BeginFunc(ctx, p.DB, func(tx pgx.Tx) error {
		var err error
		signals, err = takeSignals(ctx, tx, choice)
		if err != nil || len(signals) == 0 {
			return err
		}
		round := round{consoleURL: p.ConsoleURL}
		ids := make([]int64, 0, len(signals))
		for _, s := range signals {
			ids = append(ids, s.id)
			if s.product == nil { // its tenant was deleted
				continue
			}
			if err := round.add(s, receivers); err != nil {
				return err
			}
			published = append(published, s.eventType)
		}
		if _, err := p.Outbox.PublishInTx(ctx, tx, round.publications); err != nil {
			return fmt.Errorf("publishing %d operational events: %w", len(signals), err)
		}
		if err := round.storeNotices(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from hub.signals where id = any($1)`, ids); err != nil {
			return fmt.Errorf("deleting published signals: %w", err)
		}
		failpoint.Here("operational_before_commit")
		return nil
	})
	if err != nil {
		return signals, err
	}
	for _, eventType := range published {
		p.OnPublished(eventType)
	}
	return signals, nil
}

// receiver is an enabled alert.
type receiver struct {
	dbgen.Alert
	target *directory.Target // of a webhook
}

// loadReceivers returns the enabled alerts.
func (p *Publisher) loadReceivers(ctx context.Context) ([]receiver, error) {
	rows, err := dbgen.New(p.DB).EnabledAlerts(ctx)
	if err != nil {
		return nil, fmt.Errorf("loading alerts: %w", err)
	}
	list := make([]receiver, 0, len(rows))
	for _, row := range rows {
		r := receiver{Alert: row}
		if row.Kind == KindWebhook {
			if r.target, err = p.target(ctx, row.ID); err != nil {
				return nil, err
			}
			if r.target == nil {
				continue
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// target returns the endpoint of an alert; nil if it was deleted meanwhile.
func (p *Publisher) target(ctx context.Context, alert uuid.UUID) (*directory.Target, error) {
	target, err := p.Directory.Endpoint(ctx, alert)
	if err != nil || target != nil {
		return target, err
	}
	if err := p.Directory.Refresh(ctx); err != nil { // it may have been unknown to the cache
		return nil, err
	}
	return p.Directory.Endpoint(ctx, alert)
}

// wants reports whether an alert is about a signal.
func (r receiver) wants(s signal) bool {
	return hub.MatchesEventType(r.Events, s.eventType) &&
		(r.Product == nil || s.product != nil && *r.Product == *s.product) &&
		(r.TenantID == nil || *r.TenantID == s.tenantID)
}

// round is what one transaction publishes.
type round struct {
	consoleURL   string
	publications []*outbox.Publication
	noticeAlerts []uuid.UUID
	notices      []string
}

// add adds a signal: for its tenant, and for the alerts that want it.
func (r *round) add(s signal, receivers []receiver) error {
	data, err := s.data()
	if err != nil {
		return err
	}
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("writing the data of %s: %w", s.eventType, err)
	}
	publication := outbox.Publication{
		TenantID: s.tenantID, Environment: s.environment, Product: hub.ProductHub, Type: s.eventType, Data: text, OccurredAt: s.createdAt, OrderingKey: data.OrderingKey(),
		Audience: module.Audience{Receivers: module.EndpointsOnly},
	}
	var targets []*directory.Target
	for _, receiver := range receivers {
		switch {
		case !receiver.wants(s):
		case receiver.target != nil:
			targets = append(targets, receiver.target)
		default:
			r.noticeAlerts, r.notices = append(r.noticeAlerts, receiver.ID), append(r.notices, describe(data).notice(r.consoleURL))
		}
	}
	if len(targets) > 0 {
		forAlerts := publication
		forAlerts.TenantID, forAlerts.Targets = uuid.Nil, targets
		r.publications = append(r.publications, &forAlerts)
	}
	r.publications = append(r.publications, &publication)
	return nil
}

func (r *round) storeNotices(ctx context.Context, tx pgx.Tx) error {
	if len(r.notices) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		insert into hub.alert_notices (alert_id, notice)
		select a.id, u.notice from unnest($1::uuid[], $2::text[]) with ordinality u(id, notice, place) join hub.alerts a on a.id = u.id order by u.place`,
		r.noticeAlerts, r.notices)
	if err != nil {
		return fmt.Errorf("storing notices: %w", err)
	}
	return nil
}

// forget deletes what no episode needs any more.
func (p *Publisher) forget(ctx context.Context) error {
	for _, statement := range []string{
		`delete from hub.episodes where ended_at < now() - interval '1 hour'`,
		`delete from hub.endpoint_failures f where not exists (select from hub.endpoints e where e.id = f.endpoint_id and e.deleted_at is null)`,
	} {
		if _, err := p.DB.Exec(ctx, statement); err != nil {
			return fmt.Errorf("forgetting ended episodes: %w", err)
		}
	}
	return nil
}
