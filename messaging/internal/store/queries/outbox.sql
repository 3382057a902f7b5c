-- name: InsertOutboxEntry :one
-- Leased at once where nothing of the same chat waits before it.
insert into messaging.outbox (company_id, message_id, connection_id, contact_id, due_at, leased_until, created_at)
select sqlc.arg(company_id), sqlc.arg(message_id), sqlc.arg(connection_id), sqlc.arg(contact_id), sqlc.arg(at)::timestamptz, case when exists (
    select from messaging.outbox o where o.company_id = sqlc.arg(company_id) and o.connection_id = sqlc.arg(connection_id) and o.contact_id = sqlc.arg(contact_id)
  ) then null else sqlc.arg(leased_until)::timestamptz end, sqlc.arg(at)::timestamptz
returning *;

-- name: ClaimOutbox :many
-- The oldest due messages whose chat has none waiting before them.
update messaging.outbox set leased_until = sqlc.arg(until)::timestamptz, attempts = attempts + 1
where (company_id, message_id) in (
  select o.company_id, o.message_id from messaging.outbox o
  where o.due_at <= sqlc.arg(at)::timestamptz and (o.leased_until is null or o.leased_until < sqlc.arg(at)::timestamptz)
    and not exists (select from messaging.outbox earlier where earlier.company_id = o.company_id and earlier.connection_id = o.connection_id
      and earlier.contact_id = o.contact_id and earlier.seq < o.seq)
  order by o.due_at limit sqlc.arg(max_rows)::int for update skip locked)
returning *;

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
