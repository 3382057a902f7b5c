-- name: LockChanges :one
-- Whether the transaction may number a company's changes: one does at a time.
select pg_try_advisory_xact_lock(hashtextextended('messaging.changes', sqlc.arg(company_id)::bigint));

-- name: NumberChanges :execrows
with new_changes as (
  select id, row_number() over (order by id) as n from messaging.changes c where c.company_id = sqlc.arg(company_id)::bigint and c.seq is null order by id limit sqlc.arg(max_rows)::int
), cursor as (
  insert into messaging.change_cursors as k (company_id, seq) select sqlc.arg(company_id)::bigint, count(*) from new_changes having count(*) > 0
  on conflict (company_id) do update set seq = k.seq + excluded.seq returning k.seq
)
update messaging.changes c set seq = cursor.seq - (select count(*) from new_changes) + new_changes.n
from new_changes, cursor where c.id = new_changes.id;

-- name: LastChange :one
-- The number of a company's newest change; 0 where there is none.
select coalesce((select seq from messaging.change_cursors where company_id = $1), 0)::bigint;

-- name: OldestChange :one
-- The number of the oldest change that is kept; 0 where there is none.
select coalesce((select min(seq) from messaging.changes where company_id = $1 and seq is not null), 0)::bigint;

-- name: ChangesAfter :many
select seq::bigint as seq, kind, action, item_id, ticket_id from messaging.changes c where c.company_id = sqlc.arg(company_id) and c.seq > sqlc.arg(after)::bigint order by c.seq limit sqlc.arg(max_rows)::int;

-- name: DeleteOldChanges :exec
delete from messaging.changes where at < sqlc.arg(before)::timestamptz;

-- name: InsertStreamTicket :exec
insert into messaging.stream_tickets (hash, user_uid, expires_at) values (sqlc.arg(hash), sqlc.arg(user_id), sqlc.arg(expires_at));

-- name: TakeStreamTicket :one
delete from messaging.stream_tickets where hash = sqlc.arg(hash) and expires_at > sqlc.arg(at)::timestamptz returning user_uid;

-- name: DeleteOldStreamTickets :exec
delete from messaging.stream_tickets where expires_at < $1;
