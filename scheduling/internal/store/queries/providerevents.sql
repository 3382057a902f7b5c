-- name: InsertProviderEvent :execrows
insert into scheduling.provider_events (provider, event_id, charge_id, body, received_at, due_at) values ($1, $2, $3, $4, $5, $5)
on conflict do nothing;

-- name: ClaimProviderEvents :many
update scheduling.provider_events e set attempts = e.attempts + 1, due_at = sqlc.arg('now')::timestamptz + least(e.attempts + 1, 60) * interval '1 minute'
where (e.provider, e.event_id) in (
    select d.provider, d.event_id from scheduling.provider_events d where d.processed_at is null and d.due_at <= @now and d.provider = @provider
    order by d.due_at limit @row_limit::int for update skip locked)
returning e.event_id, e.charge_id, e.attempts, e.received_at;

-- name: PostponeProviderEvent :exec
-- Returns an attempt that says nothing of the charge: no call was made, or it met an outage.
update scheduling.provider_events set attempts = attempts - 1, due_at = @due_at where provider = @provider and event_id = @event_id;

-- name: SetProviderEventProcessed :exec
update scheduling.provider_events set processed_at = @now::timestamptz where provider = @provider and event_id = @event_id;

-- name: UnprocessedProviderEventExists :one
select exists(select from scheduling.provider_events where provider = $1 and charge_id = $2 and processed_at is null) as found;

-- name: DeleteProcessedProviderEvents :execrows
delete from scheduling.provider_events where processed_at < @before::timestamptz;
