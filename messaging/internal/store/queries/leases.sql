-- name: ClaimConnection :one
-- Takes or renews the lease of a connection, unless another process holds it. What the owner
-- before had claimed to send is free at once: entries that were claimed have attempts, those
-- that requests send have none.
with before as (
  select b.holder from messaging.connection_leases b where b.company_id = sqlc.arg(company_id) and b.connection_id = sqlc.arg(connection_id)),
taken as (
  insert into messaging.connection_leases as l (company_id, connection_id, holder, leased_until)
  select c.company_id, c.id, sqlc.arg(holder)::text, clock_timestamp() + sqlc.arg(seconds)::float8 * interval '1 second' from messaging.connections c
  where c.company_id = sqlc.arg(company_id) and c.id = sqlc.arg(connection_id)
  on conflict (company_id, connection_id) do update set holder = excluded.holder, leased_until = excluded.leased_until
  where l.holder = excluded.holder or l.leased_until < clock_timestamp()
  returning l.company_id, l.connection_id),
released as (
  update messaging.outbox o set leased_until = null from taken
  where o.company_id = taken.company_id and o.connection_id = taken.connection_id and o.attempts > 0 and o.leased_until is not null
    and not exists (select from before where before.holder = sqlc.arg(holder)::text))
select exists (select from taken)::boolean as is_owner;

-- name: ReleaseConnection :exec
update messaging.connection_leases set leased_until = clock_timestamp() where company_id = $1 and connection_id = $2 and holder = $3;

-- name: SessionsToCheck :many
-- Connections of drivers that have to be asked for the state of sessions, and those whose
-- start was interrupted.
select c.* from messaging.connections c
where (c.driver = any(sqlc.arg(drivers)::text[]) and c.status in ('PAIRING', 'CONNECTED') or c.status = 'OPENING' and c.updated_at < sqlc.arg(opened_before)::timestamptz)
  and not exists (select from messaging.connection_leases l where l.company_id = c.company_id and l.connection_id = c.id
    and l.checked_at > clock_timestamp() - sqlc.arg(seconds)::float8 * interval '1 second')
order by c.id limit 200;

-- name: MarkConnectionChecked :exec
update messaging.connection_leases set checked_at = clock_timestamp() where company_id = $1 and connection_id = $2;

-- name: MarkRenewal :exec
-- The owner of a connection has replaced its QR code, or could not: then failed_at is set.
update messaging.connection_leases set renewal_failed_at = sqlc.narg(failed_at)::timestamptz
where company_id = sqlc.arg(company_id) and connection_id = sqlc.arg(connection_id) and renewal_failed_at is distinct from sqlc.narg(failed_at)::timestamptz;
