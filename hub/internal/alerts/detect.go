package alerts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/module"
)

const (
	minFailures     = 5   // attempts, before an endpoint counts as failing
	detectedPerTick = 500 // endpoints, or keys
	// An endpoint has recovered once nothing failed for this part of the time after which it
	// counts as failing: one that flaps stays failing.
	recoveryShare  = 10
	expiryNotice   = 7 * 24 * time.Hour
	inboxesPerPage = 1000 // of a product, in one query
	inboxSpace     = "inbox/"
)

// signalFailing signals endpoints that fail for long enough, and failing ones that recovered.
// It finds rows by a list of ids: where many begin to fail at once the planner expects few, and
// would join them by reading all for each.
func (p *Publisher) signalFailing(ctx context.Context) error {
	now := p.Now()
	_, err := p.DB.Exec(ctx, `
		with due as (
			select endpoint_id from hub.endpoint_failures where announced_at is null and since <= $1 and attempts >= $2
			order by since limit $3 for update skip locked),
		unused as (
			delete from hub.endpoint_failures f using unnest(array(select endpoint_id from due)) due_id where f.endpoint_id = due_id
				and not exists (select from hub.endpoints e where e.id = f.endpoint_id and e.enabled and e.deleted_at is null)),
		announced as (
			update hub.endpoint_failures f set announced_at = $4 from unnest(array(select endpoint_id from due)) due_id, hub.endpoints e
			where f.endpoint_id = due_id and e.id = due_id and e.enabled and e.deleted_at is null
			returning e.id, e.tenant_id, e.environment, e.url, f.since, f.attempts)
		insert into hub.signals (event_type, tenant_id, environment, details)
		select 'hub.endpoint.failing', tenant_id, environment, jsonb_build_object('endpoint_id', id, 'url', url, 'failing_since', since, 'attempts', attempts)
		from announced order by since, id`, now.Add(-p.FailingAfter), minFailures, detectedPerTick, now)
	if err != nil {
		return fmt.Errorf("detecting failing endpoints: %w", err)
	}
	_, err = p.DB.Exec(ctx, `
		with due as (
			select endpoint_id from hub.endpoint_failures where delivering_since is not null and delivering_since <= $1
			order by delivering_since limit $2 for update skip locked),
		recovered as (
			delete from hub.endpoint_failures f using unnest(array(select endpoint_id from due)) due_id where f.endpoint_id = due_id
			returning f.endpoint_id, f.since, f.delivering_since)
		insert into hub.signals (event_type, tenant_id, environment, details)
		select 'hub.endpoint.recovered', e.tenant_id, e.environment,
			jsonb_build_object('endpoint_id', e.id, 'url', e.url, 'failing_since', r.since, 'recovered_at', r.delivering_since)
		from recovered r join hub.endpoints e on e.id = r.endpoint_id and e.deleted_at is null order by r.delivering_since, e.id`,
		now.Add(-p.FailingAfter/recoveryShare), detectedPerTick)
	if err != nil {
		return fmt.Errorf("detecting endpoints that recovered: %w", err)
	}
	return nil
}

// signalExpiringKeys signals keys that end within seven days, each once. A key that another
// one replaced ends as it was meant to.
func (p *Publisher) signalExpiringKeys(ctx context.Context) error {
	now := p.Now()
	for {
		tag, err := p.DB.Exec(ctx, `
			with due as (
				select id from hub.keys where revoked_at is null and expiry_announced_at is null and expires_at <= $2 and expires_at > $1
					and replaced_by is null and not superseded
				order by expires_at limit $3 for update skip locked),
			announced as (
				update hub.keys k set expiry_announced_at = $1 from due where k.id = due.id
				returning k.id, k.tenant_id, k.environment, k.name, k.last4, k.expires_at)
			insert into hub.signals (event_type, tenant_id, environment, details)
			select 'hub.key.expiring', tenant_id, environment, jsonb_build_object('key_id', id, 'name', name, 'last4', last4, 'expires_at', expires_at)
			from announced order by expires_at, id`, now, now.Add(expiryNotice), detectedPerTick)
		if err != nil {
			return fmt.Errorf("looking for keys that end: %w", err)
		}
		if tag.RowsAffected() < detectedPerTick {
			return nil
		}
	}
}

// SetInboxes sets the products with inboxes, by name.
func (p *Publisher) SetInboxes(inboxes map[string]module.InboxReporter) { p.inboxes.Store(&inboxes) }

// signalInboxes signals inboxes in which entries wait for a person: once, until none waits.
func (p *Publisher) signalInboxes(ctx context.Context) error {
	inboxes := p.inboxes.Load()
	if inboxes == nil {
		return nil
	}
	for _, product := range slices.Sorted(maps.Keys(*inboxes)) {
		if err := p.recordInboxes(ctx, product, (*inboxes)[product]); err != nil {
			return err
		}
	}
	return nil
}

// recordInboxes begins the episodes of a product's inboxes in which entries wait, page by page,
// and ends those of the others.
func (p *Publisher) recordInboxes(ctx context.Context, product string, reporter module.InboxReporter) error {
	kind, subjects := inboxSpace+product, []uuid.UUID{}
	for last, isDone := (module.WaitingInbox{}), false; !isDone; {
		waiting, err := reporter.WaitingInboxes(ctx, last, inboxesPerPage)
		if err != nil {
			return fmt.Errorf("looking into the inboxes of %s: %w", product, err)
		}
		page, err := p.recordWaiting(ctx, kind, waiting)
		if err != nil {
			return err
		}
		subjects = append(subjects, page...)
		if isDone = len(waiting) < inboxesPerPage; !isDone {
			last = waiting[len(waiting)-1]
		}
	}
	_, err := p.DB.Exec(ctx, `
		update hub.episodes e set ended_at = now()
		where kind = $1 and ended_at is null and not exists (select from unnest($2::uuid[]) waiting where waiting = e.subject_id)`, kind, subjects)
	if err != nil {
		return fmt.Errorf("recording empty inboxes: %w", err)
	}
	return nil
}

// recordWaiting begins the episodes of inboxes in which entries wait, and returns the subjects
// of all of them.
func (p *Publisher) recordWaiting(ctx context.Context, kind string, waiting []module.WaitingInbox) (subjects []uuid.UUID, err error) {
	subjects = make([]uuid.UUID, len(waiting))
	tenants, environments := make([]uuid.UUID, len(waiting)), make([]string, len(waiting))
	counts, oldest := make([]int64, len(waiting)), make([]time.Time, len(waiting))
	for i, inbox := range waiting {
		subjects[i] = uuid.NewSHA1(inbox.TenantID, []byte(inboxSpace+string(inbox.Environment)))
		tenants[i], environments[i], counts[i], oldest[i] = inbox.TenantID, string(inbox.Environment), int64(inbox.Waiting), inbox.OldestSince
	}
	_, err = p.DB.Exec(ctx, `
		insert into hub.signals (event_type, tenant_id, environment, details)
		select 'hub.inbox.waiting', t.tenant, t.environment, jsonb_build_object('waiting', t.waiting, 'oldest_since', t.oldest)
		from (select * from unnest($2::uuid[], $3::uuid[], $4::text[], $5::bigint[], $6::timestamptz[]) u(subject, tenant, environment, waiting, oldest) order by subject) t
		where case when exists (select from hub.episodes e where e.kind = $1 and e.subject_id = t.subject and e.ended_at is null) then false
			else hub.begin_episode($1, t.subject, interval '10 minutes') end`, kind, subjects, tenants, environments, counts, oldest)
	if err != nil {
		return nil, fmt.Errorf("recording waiting inboxes: %w", err)
	}
	return subjects, nil
}
