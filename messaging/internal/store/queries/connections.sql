-- name: InsertConnection :one
-- A company without a default connection gets it so.
insert into messaging.connections (company_id, name, driver, is_default, greeting_message, farewell_message, out_of_hours_message, rating_message,
  send_interval_ms, daily_limit, transfer_queue_id, time_to_transfer, expires_ticket, expires_inactive_message, max_use_bot_queues, created_at, updated_at)
values ($1, $2, $3, not exists (select from messaging.connections c where c.company_id = $1 and c.is_default), $4, $5, $6, $7, $8, $9, $11, $12, $13, $14, $15, $10, $10) returning *;

-- name: Connections :many
select * from messaging.connections where company_id = $1 order by id limit 1000;

-- name: Connection :one
select * from messaging.connections where company_id = $1 and id = $2;

-- name: ConnectionByID :one
-- Of any company: drivers know a connection by its id alone.
select * from messaging.connections where id = $1;

-- name: DefaultConnection :one
select * from messaging.connections where company_id = $1 and is_default;

-- name: LockConnection :one
select * from messaging.connections where company_id = $1 and id = $2 for no key update;

-- name: UpdateConnection :one
update messaging.connections set name = $3, greeting_message = $4, farewell_message = $5, out_of_hours_message = $6, rating_message = $7,
  send_interval_ms = $8, daily_limit = $9, is_default = $10, updated_at = $11,
  transfer_queue_id = $12, time_to_transfer = $13, expires_ticket = $14, expires_inactive_message = $15, max_use_bot_queues = $16
where company_id = $1 and id = $2 returning *;

-- name: SetConnectionSettings :one
update messaging.connections set settings = sqlc.arg(settings), state_sequence = 0, updated_at = sqlc.arg(updated_at) where company_id = sqlc.arg(company_id) and id = sqlc.arg(id) returning *;

-- name: ClearDefaultConnection :exec
update messaging.connections set is_default = false, updated_at = sqlc.arg(at)::timestamptz where company_id = sqlc.arg(company_id) and is_default and id <> sqlc.arg(id);

-- name: LockCompanyConnections :many
select * from messaging.connections where company_id = $1 order by id for no key update;

-- name: ConnectionsWithExpiredQRCode :many
-- Those whose code could not be replaced come last, and only if that failed before a time.
select c.* from messaging.connections c left join messaging.connection_leases l on l.company_id = c.company_id and l.connection_id = c.id
where c.status = 'qrcode' and c.qr_expires_at < sqlc.arg(at)::timestamptz and (l.renewal_failed_at is null or l.renewal_failed_at <= sqlc.arg(failed_before)::timestamptz)
order by l.renewal_failed_at nulls first, c.qr_expires_at limit 100;

-- name: LockConnectionByID :one
select * from messaging.connections where id = $1 for no key update;

-- name: UpdateConnectionState :one
update messaging.connections set status = sqlc.arg(status), qrcode = sqlc.arg(qrcode), qr_expires_at = sqlc.narg(qr_expires_at), number = coalesce(sqlc.narg(number), number), last_error = sqlc.narg(last_error),
  retries = case when sqlc.arg(status) in ('qrcode', 'TIMEOUT') and status = sqlc.arg(status) then retries + 1 else 0 end,
  state_sequence = greatest(state_sequence, sqlc.arg(state_sequence)), updated_at = sqlc.arg(updated_at)
where id = sqlc.arg(id) returning *;

-- name: MarkConnectionDown :exec
-- Messages cannot be sent any more on a connected connection: it waits for its network, or for
-- people.
update messaging.connections set status = sqlc.arg(status), retries = 0, last_error = sqlc.arg(reason)::text, updated_at = sqlc.arg(at)::timestamptz
where company_id = sqlc.arg(company_id) and id = sqlc.arg(id) and status = 'CONNECTED';

-- name: UnreachableConnections :many
-- Those to look at again: after 5 seconds, doubling up to a minute.
select * from messaging.connections where status = 'TIMEOUT'
  and updated_at <= sqlc.arg(at)::timestamptz - least(interval '1 minute', interval '5 seconds' * (2 ^ least(retries, 4))) order by updated_at limit 100;

-- name: LockConnectionToDelete :one
-- Messages for it cannot be written any more.
select * from messaging.connections where company_id = $1 and id = $2 for update;

-- name: DeleteConnection :execrows
delete from messaging.connections where company_id = $1 and id = $2;

-- name: EnsureDefaultConnection :exec
-- Makes the oldest connection the default of a company that has none.
update messaging.connections d set is_default = true, updated_at = sqlc.arg(at)::timestamptz
where d.company_id = sqlc.arg(company_id) and d.id = (select min(o.id) from messaging.connections o where o.company_id = d.company_id)
  and not exists (select from messaging.connections o where o.company_id = d.company_id and o.is_default);
