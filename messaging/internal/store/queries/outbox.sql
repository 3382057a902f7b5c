-- name: InsertOutboxEntry :one
-- Leased at once where nothing of the same chat waits before it, and, for a paced one on a
-- connection with an interval, where it is the connection's turn. A paced message that waits
-- for its turn holds no other one of its chat back.
with line as (
  select send_interval_ms from messaging.connections where company_id = sqlc.arg(company_id) and id = sqlc.arg(connection_id)),
chat as (
  select exists (select from messaging.outbox o, line where o.company_id = sqlc.arg(company_id) and o.connection_id = sqlc.arg(connection_id) and o.contact_id = sqlc.arg(contact_id)
    and not (o.is_paced and not sqlc.arg(is_paced)::boolean and o.leased_until is null and line.send_interval_ms > 0)) as is_waiting),
turn as (
  insert into messaging.connection_paces as p (company_id, connection_id, next_send_at)
  select sqlc.arg(company_id), sqlc.arg(connection_id), coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp()) + line.send_interval_ms * interval '1 millisecond' from line, chat
  where sqlc.arg(is_paced)::boolean and line.send_interval_ms > 0 and not chat.is_waiting and not exists (
    select from messaging.outbox o where o.company_id = sqlc.arg(company_id) and o.connection_id = sqlc.arg(connection_id) and o.is_paced and o.due_at <= sqlc.arg(at)::timestamptz)
  on conflict (company_id, connection_id) do update set next_send_at = excluded.next_send_at where p.next_send_at <= coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp()) or p.next_send_at > excluded.next_send_at
  returning true)
insert into messaging.outbox (company_id, message_id, connection_id, contact_id, due_at, leased_until, is_paced, created_at)
select sqlc.arg(company_id), sqlc.arg(message_id), sqlc.arg(connection_id), sqlc.arg(contact_id), sqlc.arg(at)::timestamptz,
  case when chat.is_waiting or sqlc.arg(is_paced)::boolean and line.send_interval_ms > 0 and not exists (select from turn) then null else sqlc.arg(leased_until)::timestamptz end,
  sqlc.arg(is_paced)::boolean, sqlc.arg(at)::timestamptz
from line, chat
returning *;

-- name: ClaimOutbox :many
-- The oldest due messages whose chat has none waiting before them, but for paced ones of
-- connections with an interval.
update messaging.outbox set leased_until = sqlc.arg(until)::timestamptz, attempts = attempts + 1
where (company_id, message_id) in (
  select o.company_id, o.message_id from messaging.outbox o join messaging.connections c on c.company_id = o.company_id and c.id = o.connection_id
  where o.due_at <= sqlc.arg(at)::timestamptz and (o.leased_until is null or o.leased_until < sqlc.arg(at)::timestamptz)
    and not (o.is_paced and c.send_interval_ms > 0)
    and not exists (select from messaging.outbox earlier where earlier.company_id = o.company_id and earlier.connection_id = o.connection_id
      and earlier.contact_id = o.contact_id and earlier.seq < o.seq
      and not (earlier.is_paced and not o.is_paced and earlier.leased_until is null and c.send_interval_ms > 0))
  order by o.due_at limit sqlc.arg(max_rows)::int for update of o skip locked)
returning *;

-- name: ClaimPacedOutbox :many
-- The next paced message of each connection whose interval has passed. A turn that is farther
-- away than the interval is none: the interval was longer, or the clock was set back.
with turns as (
  select p.company_id, p.connection_id, c.send_interval_ms from messaging.connection_paces p
  join messaging.connections c on c.company_id = p.company_id and c.id = p.connection_id
  where c.send_interval_ms > 0 and (p.next_send_at <= coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp()) or p.next_send_at > coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp()) + c.send_interval_ms * interval '1 millisecond')
    and exists (select from messaging.outbox o where o.company_id = p.company_id and o.connection_id = p.connection_id and o.is_paced
      and o.due_at <= sqlc.arg(at)::timestamptz and (o.leased_until is null or o.leased_until < sqlc.arg(at)::timestamptz))
  order by p.next_send_at limit sqlc.arg(max_rows)::int for update of p skip locked),
firsts as (
  select distinct on (o.company_id, o.connection_id) o.company_id, o.message_id, o.connection_id, t.send_interval_ms
  from turns t join messaging.outbox o on o.company_id = t.company_id and o.connection_id = t.connection_id
  where o.is_paced and o.due_at <= sqlc.arg(at)::timestamptz and (o.leased_until is null or o.leased_until < sqlc.arg(at)::timestamptz)
    and not exists (select from messaging.outbox earlier where earlier.company_id = o.company_id and earlier.connection_id = o.connection_id
      and earlier.contact_id = o.contact_id and earlier.seq < o.seq)
  order by o.company_id, o.connection_id, o.due_at, o.seq),
moved as (
  update messaging.connection_paces p set next_send_at = coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp()) + f.send_interval_ms * interval '1 millisecond'
  from firsts f where p.company_id = f.company_id and p.connection_id = f.connection_id)
update messaging.outbox o set leased_until = sqlc.arg(until)::timestamptz, attempts = o.attempts + 1
from firsts f where o.company_id = f.company_id and o.message_id = f.message_id and (o.leased_until is null or o.leased_until < sqlc.arg(at)::timestamptz)
returning o.*;

-- name: NextPacedTurn :one
-- Milliseconds until the first connection that has paced messages waiting may send; -1: none has.
select coalesce(min(greatest(extract(epoch from p.next_send_at - coalesce(sqlc.narg(clock)::timestamptz, clock_timestamp())) * 1000, 0)), -1)::float8 as milliseconds
from messaging.connection_paces p join messaging.connections c on c.company_id = p.company_id and c.id = p.connection_id
where c.send_interval_ms > 0 and exists (select from messaging.outbox o where o.company_id = p.company_id and o.connection_id = p.connection_id and o.is_paced
  and o.due_at <= sqlc.arg(at)::timestamptz and (o.leased_until is null or o.leased_until < sqlc.arg(at)::timestamptz));

-- name: BeginPace :exec
insert into messaging.connection_paces (company_id, connection_id, next_send_at) values ($1, $2, $3) on conflict do nothing;

-- name: PaceOfConnection :one
-- When a connection may send its next message of a program, and whether some wait for it.
select p.next_send_at, exists (select from messaging.outbox o where o.company_id = p.company_id and o.connection_id = p.connection_id and o.is_paced
  and o.due_at <= sqlc.arg(at)::timestamptz)::boolean as is_busy
from messaging.connection_paces p where p.company_id = sqlc.arg(company_id) and p.connection_id = sqlc.arg(connection_id);

-- name: DeleteOutboxEntry :execrows
delete from messaging.outbox where company_id = $1 and message_id = $2;

-- name: PostponeOutboxEntry :exec
update messaging.outbox set due_at = $3, leased_until = null, handed_at = null where company_id = $1 and message_id = $2;

-- name: HandOver :execrows
-- Marks a message before it is handed to a network that cannot tell a repeated request. No
-- row means that it was marked before: whether it was sent is not known.
update messaging.outbox set handed_at = sqlc.arg(at)::timestamptz where company_id = sqlc.arg(company_id) and message_id = sqlc.arg(message_id) and handed_at is null;

-- name: InsertUnclearMessage :exec
insert into messaging.unclear_messages (company_id, message_id, due_at) values ($1, $2, $3) on conflict do nothing;

-- name: DueUnclearMessages :many
select company_id, message_id from messaging.unclear_messages where due_at <= sqlc.arg(at)::timestamptz order by due_at limit 500;

-- name: DeleteUnclearMessage :execrows
delete from messaging.unclear_messages where company_id = $1 and message_id = $2;
