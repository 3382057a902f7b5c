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
-- The number of the newest change of each company, 0 where there is none, whether there are changes
-- without a number, and whether a crash of the database has lost changes since the last look.
select k.id::bigint as company_id, coalesce(c.seq, 0)::bigint as newest, not exists (select from messaging.changes_marker) as is_lost, exists (select from messaging.changes n where n.company_id = k.id and n.seq is null) as has_new
from unnest(sqlc.arg(companies)::bigint[]) k(id) left join messaging.change_cursors c on c.company_id = k.id;

-- name: LastChange :one
-- The number of a company's newest change; 0 where there is none.
select coalesce((select seq from messaging.change_cursors where company_id = $1), 0)::bigint;

-- name: OldestChange :one
-- The number of the oldest change that is kept; 0 where there is none.
select coalesce((select min(seq) from messaging.changes where company_id = $1 and seq is not null), 0)::bigint;

-- name: ChangesAfter :many
select seq::bigint as seq, kind, action, item_id, ticket_id, is_move, earlier_user_id, earlier_queue_id from messaging.changes c where c.company_id = sqlc.arg(company_id) and c.seq > sqlc.arg(after)::bigint order by c.seq limit sqlc.arg(max_rows)::int;

-- name: HasLostChanges :one
-- Whether a crash of the database has lost changes since the last look.
select not exists (select from messaging.changes_marker);

-- name: SkipLostChanges :exec
-- Streams that go on where they were find a gap. A company without a number gets its first one:
-- streams that saw none begin at 0.
with marked as (insert into messaging.changes_marker (id) values (1) on conflict do nothing returning id)
insert into messaging.change_cursors as k (company_id, seq) select c.id, 1 from messaging.companies c where exists (select from marked) order by c.id
on conflict (company_id) do update set seq = k.seq + 1;

-- name: CompaniesWithOldChanges :many
-- Of the oldest changes.
select distinct c.company_id from (select o.company_id from messaging.changes o where o.at < sqlc.arg(before)::timestamptz order by o.at limit sqlc.arg(max_rows)::int) c order by c.company_id;

-- name: AwaitNumbering :exec
-- Nobody else numbers changes of the company until the transaction ends: see LockChanges.
select pg_advisory_xact_lock(hashtextextended('messaging.changes', sqlc.arg(company_id)::bigint));

-- name: DeleteOldChanges :one
-- Those without a number take one with them. Streams that go on where they were find a gap.
with gone as (
  delete from messaging.changes where id in (
    select o.id from messaging.changes o where o.at < sqlc.arg(before)::timestamptz and o.company_id = any(sqlc.arg(companies)::bigint[]) order by o.at limit sqlc.arg(max_rows)::int)
  returning company_id, seq
), raised as (
  insert into messaging.change_cursors as k (company_id, seq)
  select g.company_id, count(*) from gone g join messaging.companies c on c.id = g.company_id where g.seq is null group by g.company_id order by g.company_id
  on conflict (company_id) do update set seq = k.seq + excluded.seq
)
select count(*) from gone;

-- name: InsertStreamTicket :exec
insert into messaging.stream_tickets (hash, user_uid, expires_at) values (sqlc.arg(hash), sqlc.arg(user_id), sqlc.arg(expires_at));

-- name: TakeStreamTicket :one
delete from messaging.stream_tickets where hash = sqlc.arg(hash) and expires_at > sqlc.arg(at)::timestamptz returning user_uid;

-- name: DeleteOldStreamTickets :exec
delete from messaging.stream_tickets where expires_at < $1;
