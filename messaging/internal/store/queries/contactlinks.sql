-- name: LockContactLinks :many
select * from messaging.contact_links where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact_id) and integration_id = any(sqlc.arg(integrations)::uuid[])
order by integration_id for no key update;

-- name: AddContactLinks :exec
insert into messaging.contact_links (company_id, contact_id, integration_id)
select sqlc.arg(company_id), sqlc.arg(contact_id), i from unnest(sqlc.arg(integrations)::uuid[]) i order by i on conflict do nothing;

-- name: HoldEvent :exec
insert into messaging.held_events (company_id, contact_id, integration_id, event_type, data, occurred_at) values ($1, $2, $3, $4, $5, $6);

-- name: RequestContactLink :exec
update messaging.contact_links set wanted_at = coalesce(wanted_at, sqlc.arg(at)::timestamptz), is_bulk = sqlc.arg(is_bulk)::boolean and (is_bulk or wanted_at is null)
where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact_id) and integration_id = sqlc.arg(integration_id);

-- name: IntegrationsToAsk :many
-- Those that contacts wait for, but for paused ones; people's contacts first, then those that
-- were not served for the longest time. served has the integrations that were, in this order.
select w.company_id, w.integration_id from messaging.contact_links w
where w.wanted_at is not null and not exists (select from messaging.link_pauses p where p.company_id = w.company_id and p.integration_id = w.integration_id and p.until > sqlc.arg(at)::timestamptz)
  and not w.integration_id = any(sqlc.arg(excluded)::uuid[])
group by w.company_id, w.integration_id
order by bool_and(w.is_bulk), coalesce(array_position(sqlc.arg(served)::uuid[], w.integration_id), 0), min(w.wanted_at) limit sqlc.arg(max_rows)::int;

-- name: ContactsToAsk :many
select l.contact_id, l.is_bulk, c.number from messaging.contact_links l join messaging.contacts c on c.company_id = l.company_id and c.id = l.contact_id
where l.company_id = sqlc.arg(company_id) and l.integration_id = sqlc.arg(integration_id) and l.wanted_at is not null
order by l.is_bulk, l.wanted_at limit sqlc.arg(max_rows)::int;

-- name: CountLinkAttempts :one
select count(*) from messaging.contact_links where company_id = sqlc.arg(company_id) and integration_id = sqlc.arg(integration_id) and attempted_at > sqlc.arg(since)::timestamptz;

-- name: SetLinkAttempt :exec
update messaging.contact_links set attempted_at = sqlc.arg(at)::timestamptz where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact_id) and integration_id = sqlc.arg(integration_id);

-- name: SettleContactLink :exec
update messaging.contact_links set is_linked = sqlc.arg(is_linked)::boolean, checked_at = sqlc.arg(at)::timestamptz, wanted_at = null, is_bulk = true
where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact_id) and integration_id = sqlc.arg(integration_id);

-- name: TakeHeldEvents :many
with taken as (delete from messaging.held_events h where h.company_id = sqlc.arg(company_id) and h.contact_id = sqlc.arg(contact_id) and h.integration_id = sqlc.arg(integration_id) returning *)
select id, event_type, data, occurred_at from taken order by id;

-- name: PauseLinks :exec
insert into messaging.link_pauses (company_id, integration_id, until, failures) values ($1, $2, $3, 1)
on conflict (company_id, integration_id) do update set until = excluded.until, failures = messaging.link_pauses.failures + 1;

-- name: LinkFailures :one
select coalesce((select failures from messaging.link_pauses where company_id = $1 and integration_id = $2), 0)::int as failures;

-- name: EndLinkPause :exec
delete from messaging.link_pauses where company_id = $1 and integration_id = $2;

-- name: DeleteLinksOfIntegration :exec
delete from messaging.contact_links where company_id = $1 and integration_id = $2;

-- name: DeleteLinksOfContact :exec
delete from messaging.contact_links where company_id = $1 and contact_id = $2;

-- name: ForgetLinks :execrows
-- What is known of numbers may have changed.
update messaging.contact_links l set is_linked = null, checked_at = null from messaging.contacts c
where c.company_id = sqlc.arg(company_id) and c.number_key = any(sqlc.arg(number_keys)::text[]) and l.company_id = c.company_id and l.contact_id = c.id
  and (not l.is_linked or sqlc.arg(positive_too)::boolean);

-- name: DeleteOldHeldEvents :exec
delete from messaging.held_events where occurred_at < sqlc.arg(before)::timestamptz;

-- name: CancelOldLinkRequests :exec
update messaging.contact_links l set wanted_at = null, is_bulk = true where l.wanted_at < sqlc.arg(before)::timestamptz
  and not exists (select from messaging.held_events h where h.company_id = l.company_id and h.contact_id = l.contact_id and h.integration_id = l.integration_id);
