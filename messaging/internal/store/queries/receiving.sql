-- name: ReceivingConnection :one
-- A connection with its company, and whether it has queues.
select sqlc.embed(w), sqlc.embed(c), exists (select from messaging.connection_queues q where q.company_id = w.company_id and q.connection_id = w.id) as has_queues
from messaging.connections w join messaging.companies c on c.id = w.company_id where w.id = $1;

-- name: LockAvailableContacts :many
-- Contacts by their numbers. Those that another transaction has locked are left out.
select * from messaging.contacts where company_id = sqlc.arg(company_id) and number_key = any(sqlc.arg(number_keys)::text[]) order by id for no key update skip locked;

-- name: LockAvailableLiveTickets :many
-- The live tickets of contacts on a connection. Those that another transaction has locked are
-- left out.
select * from messaging.tickets where company_id = sqlc.arg(company_id) and contact_id = any(sqlc.arg(contacts)::bigint[]) and connection_id = sqlc.arg(connection_id)::bigint
  and status in ('open', 'pending') order by id for no key update skip locked;

-- name: AwaitedAnswersOfContacts :one
-- Which remote ids are stored, and which contacts a campaign or a question of a reminder waits
-- for.
select array(select m.remote_id from messaging.messages m where m.company_id = sqlc.arg(company_id) and m.connection_id = sqlc.arg(connection_id)::bigint
    and m.remote_id = any(sqlc.arg(remote_ids)::text[]))::text[] as stored_remote_ids,
  array(select c.id from (select unnest(sqlc.arg(contacts)::bigint[]) as id) c
    where exists (select from messaging.messages m where m.company_id = sqlc.arg(company_id) and m.contact_id = c.id and m.ticket_id is null)
      or exists (select from messaging.campaign_shipments s where s.company_id = sqlc.arg(company_id) and s.contact_id = c.id and s.status = 'confirming')
      or exists (select from messaging.appointment_questions q where q.company_id = sqlc.arg(company_id) and q.contact_id = c.id and q.connection_id = sqlc.arg(connection_id)::bigint
        and q.expires_at > sqlc.arg(since)::timestamptz and q.status not in ('replaced', 'failed')))::bigint[] as expected_contacts;

-- name: InsertReceivedMessages :many
-- Texts of contacts, in the order of the arrays.
insert into messaging.messages (company_id, connection_id, created_at, updated_at, from_me, origin, id, ticket_id, contact_id, remote_id, body, media_type, sent_at)
select sqlc.arg(company_id), sqlc.arg(connection_id)::bigint, sqlc.arg(at), sqlc.arg(at), false, 'contact', unnest(sqlc.arg(ids)::text[]), unnest(sqlc.arg(tickets)::bigint[]), unnest(sqlc.arg(contacts)::bigint[]),
  unnest(sqlc.arg(remote_ids)::text[]), unnest(sqlc.arg(bodies)::text[]), unnest(sqlc.arg(media_types)::text[]), unnest(sqlc.arg(sent_at)::timestamptz[])
returning *;

-- name: AddReceivedToTickets :exec
-- Messages of contacts have been added to tickets.
update messaging.tickets t set last_message = n.last_message, unread_messages = t.unread_messages + n.received, awaits_contact = false, updated_at = sqlc.arg(at)::timestamptz
from (select unnest(sqlc.arg(tickets)::bigint[]) as id, unnest(sqlc.arg(last_messages)::text[]) as last_message, unnest(sqlc.arg(received)::int[]) as received) n
where t.company_id = sqlc.arg(company_id) and t.id = n.id;

-- name: SetContactsLastInbound :exec
update messaging.contacts c set last_inbound_at = greatest(c.last_inbound_at, n.at)
from (select unnest(sqlc.arg(contacts)::bigint[]) as id, unnest(sqlc.arg(at)::timestamptz[]) as at) n
where c.company_id = sqlc.arg(company_id) and c.id = n.id;
