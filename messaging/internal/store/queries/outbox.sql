-- name: InsertOutboxEntry :one
-- Leased at once where nothing of the same chat waits before it.
insert into messaging.outbox (company_id, message_id, connection_id, contact_id, is_urgent, due_at, leased_until, created_at)
select sqlc.arg(company_id), sqlc.arg(message_id), sqlc.arg(connection_id), sqlc.arg(contact_id), sqlc.arg(is_urgent), sqlc.arg(at)::timestamptz, case when exists (
    select from messaging.outbox o where o.company_id = sqlc.arg(company_id) and o.connection_id = sqlc.arg(connection_id) and o.contact_id = sqlc.arg(contact_id)
  ) then null else sqlc.arg(leased_until)::timestamptz end, sqlc.arg(at)::timestamptz
returning *;

-- name: HastenChat :exec
-- What waits in a chat before an urgent message is as urgent.
update messaging.outbox set is_urgent = true where company_id = $1 and connection_id = $2 and contact_id = $3 and not is_urgent;

-- name: CloseTicketOnceSent :exec
update messaging.outbox set closes_ticket = true where company_id = $1 and message_id = $2;

-- name: ConnectionsToSend :many
-- Connections with due messages, those of people first. Messages of connections that are not
-- connected wait, until they are too old.
select o.company_id, o.connection_id from messaging.outbox o join messaging.connections c on c.company_id = o.company_id and c.id = o.connection_id
where o.due_at <= sqlc.arg(at)::timestamptz and (o.leased_until is null or o.leased_until < sqlc.arg(at)::timestamptz)
  and (c.status = 'CONNECTED' or o.created_at <= sqlc.arg(expired)::timestamptz) and not o.connection_id = any(sqlc.arg(without)::bigint[])
group by o.company_id, o.connection_id order by bool_or(o.is_urgent) desc, min(o.due_at), o.connection_id limit sqlc.arg(max_rows)::int;

-- name: ClaimOutbox :many
-- The oldest due messages of a connection whose chat has none waiting before them; urgent
-- ones first. Materialized, and the first of a chat by its index: statistics of a queue are
-- never those of its next backlog.
with next as materialized (
  select o.message_id from messaging.outbox o
  where o.company_id = sqlc.arg(company_id)::bigint and o.connection_id = sqlc.arg(connection_id)::bigint
    and o.due_at <= sqlc.arg(at)::timestamptz and (o.leased_until is null or o.leased_until < sqlc.arg(at)::timestamptz)
    and (o.created_at <= sqlc.arg(expired)::timestamptz or exists (select from messaging.connections c where c.company_id = o.company_id and c.id = o.connection_id and c.status = 'CONNECTED'))
    and o.seq = (select min(first.seq) from messaging.outbox first where first.company_id = o.company_id and first.connection_id = o.connection_id and first.contact_id = o.contact_id)
  order by o.is_urgent desc, o.due_at, o.seq limit sqlc.arg(max_rows)::int for update skip locked)
update messaging.outbox u set leased_until = sqlc.arg(until)::timestamptz, attempts = u.attempts + 1
from next where u.company_id = sqlc.arg(company_id)::bigint and u.message_id = next.message_id
returning u.*;

-- name: DeleteOutboxEntry :execrows
delete from messaging.outbox where company_id = $1 and message_id = $2;

-- name: PostponeOutboxEntry :exec
update messaging.outbox set due_at = $3, leased_until = null, handed_at = null where company_id = $1 and message_id = $2;

-- name: ReleaseOutboxEntries :exec
-- They were not tried.
update messaging.outbox set leased_until = null, attempts = greatest(attempts - 1, 0) where company_id = $1 and message_id = any(sqlc.arg(messages)::text[]) and leased_until = sqlc.arg(leased_until)::timestamptz;

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
