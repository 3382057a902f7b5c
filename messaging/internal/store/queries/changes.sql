-- name: LockChanges :many
-- Those of the companies whose changes the transaction may number: one does at a time. The
-- numbering is a statement of its own: it has to see what the last one has numbered.
select c.id::bigint as id from unnest(sqlc.arg(companies)::bigint[]) c(id) where pg_try_advisory_xact_lock(hashtextextended('messaging.changes', c.id));

-- name: NumberChanges :many
-- It returns each company that has a number of changes new, or more.
with new_changes as (
  select n.id, k.id as company_id, row_number() over (partition by k.id order by n.id) as place from unnest(sqlc.arg(companies)::bigint[]) k(id)
  cross join lateral (select c.id from messaging.changes c where c.company_id = k.id and c.seq is null order by c.id limit sqlc.arg(max_rows)::int) n
), counted as (
  select company_id, count(*) as n from new_changes group by company_id
), cursor as (
  insert into messaging.change_cursors as k (company_id, seq) select company_id, n from counted order by company_id
  on conflict (company_id) do update set seq = k.seq + excluded.seq returning k.company_id, k.seq
), numbered as (
  update messaging.changes c set seq = cursor.seq - counted.n + new_changes.place
  from new_changes join counted using (company_id) join cursor using (company_id) where c.id = new_changes.id
)
select company_id::bigint as company_id from counted where n >= sqlc.arg(max_rows)::int;

-- name: ChangeStates :many
-- The number of the newest change of each company, 0 where there is none, and whether there are
-- changes without a number.
select k.id::bigint as company_id, coalesce(c.seq, 0)::bigint as newest, exists (select from messaging.changes n where n.company_id = k.id and n.seq is null) as has_new
from unnest(sqlc.arg(companies)::bigint[]) k(id) left join messaging.change_cursors c on c.company_id = k.id;

-- name: LastChange :one
-- The number of a company's newest change; 0 where there is none.
select coalesce((select seq from messaging.change_cursors where company_id = $1), 0)::bigint;

-- name: OldestChange :one
-- The number of the oldest change that is kept; 0 where there is none.
select coalesce((select min(seq) from messaging.changes where company_id = $1 and seq is not null), 0)::bigint;

-- name: ChangesAfter :many
select seq::bigint as seq, kind, action, item_id, ticket_id, is_move, earlier_user_id, earlier_queue_id from messaging.changes c where c.company_id = sqlc.arg(company_id) and c.seq > sqlc.arg(after)::bigint order by c.seq limit sqlc.arg(max_rows)::int;

-- name: DeleteOldChanges :exec
delete from messaging.changes where at < sqlc.arg(before)::timestamptz;

-- name: InsertStreamTicket :exec
insert into messaging.stream_tickets (hash, user_uid, expires_at) values (sqlc.arg(hash), sqlc.arg(user_id), sqlc.arg(expires_at));

-- name: TakeStreamTicket :one
delete from messaging.stream_tickets where hash = sqlc.arg(hash) and expires_at > sqlc.arg(at)::timestamptz returning user_uid;

-- name: DeleteOldStreamTickets :exec
delete from messaging.stream_tickets where expires_at < $1;
