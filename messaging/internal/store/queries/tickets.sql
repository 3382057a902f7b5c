-- name: LiveTicket :one
select * from messaging.tickets where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact_id) and connection_id = sqlc.arg(connection_id)::bigint and status in ('open', 'pending') for no key update;

-- name: NewestClosedTicket :one
select * from messaging.tickets where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact_id) and connection_id = sqlc.arg(connection_id)::bigint and status = 'closed' and closed_at > sqlc.arg(since)::timestamptz
order by closed_at desc limit 1 for no key update;

-- name: InsertTickets :many
-- Of contacts without a live one on the connection. A user or queue of 0 is none.
insert into messaging.tickets (company_id, uuid, status, contact_id, connection_id, user_id, queue_id, queued_at, started_at, created_at, updated_at)
select sqlc.arg(company_id), gen_random_uuid(), n.status, n.contact_id, n.connection_id, nullif(n.user_id, 0), nullif(n.queue_id, 0), sqlc.arg(at)::timestamptz,
  case when n.status = 'open' then sqlc.arg(at)::timestamptz end, sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz
from (select unnest(sqlc.arg(statuses)::text[]) as status, unnest(sqlc.arg(contacts)::bigint[]) as contact_id, unnest(sqlc.arg(connections)::bigint[]) as connection_id,
  unnest(sqlc.arg(users)::bigint[]) as user_id, unnest(sqlc.arg(queues)::bigint[]) as queue_id, generate_series(1, cardinality(sqlc.arg(contacts)::bigint[])) as place) n
order by n.place returning *;

-- name: LockTicket :one
select * from messaging.tickets where company_id = $1 and id = $2 for no key update;

-- name: Ticket :one
select * from messaging.tickets where company_id = $1 and id = $2;

-- name: UpdateTicket :one
-- One that waits or is accepted anew has no answer yet.
update messaging.tickets set status = $3, user_id = $4, queue_id = $5, connection_id = $6, resolution = $7,
  queued_at = $8, started_at = $9, closed_at = $10, chatbot = $11, rating_asked_at = $12, updated_at = $13,
  first_response_at = case when sqlc.arg(begins_anew)::boolean then null else first_response_at end
where company_id = $1 and id = $2 returning *;

-- name: AddToTicket :exec
-- A message has been added to the ticket. A note changes no last message: connected products and webhooks see that.
update messaging.tickets set last_message = coalesce(sqlc.narg(last_message), last_message), unread_messages = unread_messages + sqlc.arg(unread)::int,
  first_response_at = coalesce(first_response_at, sqlc.narg(first_response_at)),
  awaits_contact = coalesce(sqlc.narg(awaits_contact), awaits_contact), updated_at = sqlc.arg(at)::timestamptz
where company_id = sqlc.arg(company_id) and id = sqlc.arg(id);

-- name: TicketToRate :one
-- The newest ticket of a contact that was closed with the question for a rating. The contact may
-- have begun a conversation since: while nobody accepted it, no menu waits, and only automatic
-- messages were written in it, a number is the answer to that question.
select * from messaging.tickets t where t.company_id = sqlc.arg(company_id) and t.contact_id = sqlc.arg(contact_id) and t.connection_id = sqlc.arg(connection_id)::bigint and t.status in ('closed', 'pending')
  and t.rating_asked_at > sqlc.arg(since)::timestamptz
  and not exists (select from messaging.tickets l where l.company_id = t.company_id and l.contact_id = t.contact_id and l.connection_id = t.connection_id
    and (l.status = 'open' or l.status = 'pending' and (l.chatbot or exists (select from messaging.messages m
      where m.company_id = l.company_id and m.ticket_id = l.id and m.from_me and not m.is_private and m.origin <> 'bot' and m.created_at > t.rating_asked_at))))
order by t.rating_asked_at desc limit 1 for no key update;

-- name: MarkTicketRead :exec
update messaging.tickets set unread_messages = 0 where company_id = $1 and id = $2 and unread_messages > 0;

-- name: DeleteTicket :execrows
delete from messaging.tickets where company_id = $1 and id = $2;

-- name: LatestTicketsOfContacts :many
select sqlc.embed(t), q.name as queue_name from messaging.tickets t
left join messaging.queues q on q.company_id = t.company_id and q.id = t.queue_id
where t.company_id = sqlc.arg(company_id) and t.contact_id = any(sqlc.arg(contacts)::bigint[]) and (sqlc.arg(status)::text = '' or t.status = sqlc.arg(status)::text)
order by t.id desc limit sqlc.arg(max_rows)::int;

-- name: HoldersOfContacts :many
-- The owners and queues of the contacts' tickets, each once.
select distinct contact_id, user_id, queue_id from messaging.tickets where company_id = $1 and contact_id = any(sqlc.arg(contacts)::bigint[]);
