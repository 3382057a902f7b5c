-- name: Queue :one
select * from messaging.queues where company_id = $1 and id = $2;

-- name: LockQueue :one
select * from messaging.queues where company_id = $1 and id = $2 for no key update;

-- name: Queues :many
select * from messaging.queues where company_id = $1 order by position nulls last, id limit 1000;

-- name: InsertQueue :one
insert into messaging.queues (company_id, name, color, position, greeting_message, out_of_hours_message, schedules, options, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) returning *;

-- name: UpdateQueue :one
update messaging.queues set name = $3, color = $4, position = $5, greeting_message = $6, out_of_hours_message = $7, schedules = $8, options = $9, updated_at = $10
where company_id = $1 and id = $2 returning *;

-- name: DeleteQueue :exec
-- Its tickets have no queue then.
delete from messaging.queues where company_id = $1 and id = $2;

-- name: EndMenusOfQueue :exec
-- Contacts with a menu of the queue are left to people.
update messaging.tickets set chatbot = false where company_id = sqlc.arg(company_id) and queue_id = sqlc.arg(queue_id)::bigint and chatbot;

-- name: QueuesOfConnection :many
-- In the order of menus.
select sqlc.embed(q) from messaging.connection_queues cq join messaging.queues q on q.company_id = cq.company_id and q.id = cq.queue_id
where cq.company_id = $1 and cq.connection_id = $2 order by q.position nulls last, q.id;

-- name: QueuesOfConnections :many
select cq.connection_id, q.id, q.name, q.color from messaging.connection_queues cq join messaging.queues q on q.company_id = cq.company_id and q.id = cq.queue_id
where cq.company_id = sqlc.arg(company_id) and cq.connection_id = any(sqlc.arg(connections)::bigint[]) order by q.position nulls last, q.id;

-- name: DeleteConnectionQueues :exec
delete from messaging.connection_queues where company_id = $1 and connection_id = $2;

-- name: InsertConnectionQueues :execrows
-- Queues of other companies are left out: the caller compares the number.
insert into messaging.connection_queues (company_id, connection_id, queue_id)
select q.company_id, sqlc.arg(connection_id), q.id from messaging.queues q where q.company_id = sqlc.arg(company_id) and q.id = any(sqlc.arg(queues)::bigint[]);

-- name: SetTicketMenu :exec
-- Where the automatic messages of a ticket are.
update messaging.tickets set queue_id = $3, chatbot = $4, greeted_at = $5, menu_sent_at = $6, menu_option = $7, wrong_answers = $8, updated_at = $9
where company_id = $1 and id = $2;

-- name: HasOutgoing :one
-- Whether people or programs of the company have written in a ticket.
select exists (select from messaging.messages where company_id = $1 and ticket_id = sqlc.arg(ticket_id)::bigint and from_me and not is_private and origin <> 'bot');

-- name: SetContactOutOfHours :exec
update messaging.contacts set out_of_hours_at = sqlc.arg(at)::timestamptz where company_id = sqlc.arg(company_id) and id = sqlc.arg(id);

-- name: SetContactConsent :exec
update messaging.contacts set consent = sqlc.arg(consent), consent_at = sqlc.arg(at)::timestamptz, updated_at = sqlc.arg(at)::timestamptz where company_id = sqlc.arg(company_id) and id = sqlc.arg(id);

-- name: SetRatingAsked :exec
update messaging.tickets set rating_asked_at = sqlc.arg(at)::timestamptz where company_id = sqlc.arg(company_id) and id = sqlc.arg(id);

-- name: SetTicketRating :exec
update messaging.tickets set rating = sqlc.arg(rating)::int, rating_asked_at = null, updated_at = sqlc.arg(at)::timestamptz where company_id = sqlc.arg(company_id) and id = sqlc.arg(id);

-- name: CompaniesWithTicketsToTransfer :many
-- Those that [TicketsToTransfer] finds tickets of.
select distinct w.company_id from messaging.connections w
where w.transfer_queue_id is not null and w.time_to_transfer > 0 and not w.company_id = any(sqlc.arg(excluded)::bigint[])
  and exists (select from messaging.tickets t where t.company_id = w.company_id and t.connection_id = w.id and t.status = 'pending' and t.user_id is null
    and t.queued_at <= sqlc.arg(at)::timestamptz - make_interval(mins => w.time_to_transfer) and t.queue_id is distinct from w.transfer_queue_id);

-- name: TicketsToTransfer :many
-- Tickets of a company that nobody accepted in their connection's time.
select sqlc.embed(t), w.transfer_queue_id::bigint as transfer_queue_id from messaging.connections w
join messaging.tickets t on t.company_id = w.company_id and t.connection_id = w.id
where w.company_id = sqlc.arg(company_id) and w.transfer_queue_id is not null and w.time_to_transfer > 0 and t.status = 'pending' and t.user_id is null
  and t.queued_at <= sqlc.arg(at)::timestamptz - make_interval(mins => w.time_to_transfer) and t.queue_id is distinct from w.transfer_queue_id
order by t.queued_at limit sqlc.arg(max_rows)::int for no key update of t skip locked;

-- name: CompaniesWithInactiveTickets :many
-- Those that [InactiveTickets] finds tickets of.
select distinct w.company_id from messaging.connections w
where w.expires_ticket > 0 and not w.company_id = any(sqlc.arg(excluded)::bigint[])
  and exists (select from messaging.tickets t where t.company_id = w.company_id and t.connection_id = w.id
    and (t.chatbot and t.status in ('open', 'pending') or t.awaits_contact and t.status = 'open')
    and t.updated_at <= sqlc.arg(at)::timestamptz - make_interval(mins => w.expires_ticket)
    and (t.chatbot or coalesce((select m.from_me and m.origin <> 'bot' from messaging.messages m
      where m.company_id = t.company_id and m.ticket_id = t.id and not m.is_private order by m.seq desc limit 1), false)));

-- name: InactiveTickets :many
-- Tickets of a company whose contact has not answered it in their connection's time: open ones
-- with a message of people or programs last, and waiting ones with a menu. The index has those
-- only. A process of an earlier version may have written since: the last message decides.
select t.* from messaging.connections w
join messaging.tickets t on t.company_id = w.company_id and t.connection_id = w.id
where w.company_id = sqlc.arg(company_id) and w.expires_ticket > 0 and (t.chatbot and t.status in ('open', 'pending') or t.awaits_contact and t.status = 'open')
  and t.updated_at <= sqlc.arg(at)::timestamptz - make_interval(mins => w.expires_ticket)
  and (t.chatbot or coalesce((select m.from_me and m.origin <> 'bot' from messaging.messages m
    where m.company_id = t.company_id and m.ticket_id = t.id and not m.is_private order by m.seq desc limit 1), false))
order by t.updated_at limit sqlc.arg(max_rows)::int for no key update of t skip locked;

-- name: QueuesByID :many
select * from messaging.queues where company_id = $1 and id = any(sqlc.arg(ids)::bigint[]);
