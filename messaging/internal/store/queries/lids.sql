-- name: LockContactByLID :one
select * from messaging.contacts where company_id = sqlc.arg(company_id) and lid = sqlc.arg(lid)::text for no key update;

-- name: InsertLIDContact :one
-- The contact of a LID, without a number; created says whether it is new.
insert into messaging.contacts as c (company_id, name, number, number_key, lid, created_at, updated_at) values (sqlc.arg(company_id), sqlc.arg(name), '', 'lid:' || sqlc.arg(lid)::text, sqlc.arg(lid)::text, sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz)
on conflict (company_id, number_key) do update set name = c.name
returning sqlc.embed(c), (c.xmax = 0)::boolean as created;

-- name: SetContactName :exec
update messaging.contacts set name = sqlc.arg(name), updated_at = sqlc.arg(at)::timestamptz where company_id = sqlc.arg(company_id) and id = sqlc.arg(id);

-- name: SetContactNumber :one
update messaging.contacts set name = sqlc.arg(name), number = sqlc.arg(number), number_key = sqlc.arg(number_key), network_number = sqlc.arg(number), updated_at = sqlc.arg(at)::timestamptz
where company_id = sqlc.arg(company_id) and id = sqlc.arg(id) returning *;

-- name: SetNetworkNumber :exec
update messaging.contacts set network_number = $3 where company_id = $1 and id = $2;

-- name: MoveMessagesOfTicket :exec
update messaging.messages set ticket_id = sqlc.arg(into_ticket)::bigint, contact_id = sqlc.arg(into_contact)::bigint where company_id = sqlc.arg(company_id) and ticket_id = sqlc.arg(ticket)::bigint;

-- name: MergeTicket :exec
-- What a ticket shows of another one's messages, which were moved into it.
update messaging.tickets t set unread_messages = t.unread_messages + o.unread_messages, last_message = case when o.updated_at > t.updated_at then o.last_message else t.last_message end,
  awaits_contact = t.awaits_contact and o.awaits_contact, first_response_at = least(t.first_response_at, o.first_response_at), created_at = least(t.created_at, o.created_at), updated_at = sqlc.arg(at)::timestamptz
from messaging.tickets o where t.company_id = sqlc.arg(company_id) and t.id = sqlc.arg(into_ticket) and o.company_id = t.company_id and o.id = sqlc.arg(ticket);

-- name: MergeTicketTags :exec
insert into messaging.ticket_tags (company_id, ticket_id, tag_id)
select o.company_id, sqlc.arg(into_ticket)::bigint, o.tag_id from messaging.ticket_tags o where o.company_id = sqlc.arg(company_id) and o.ticket_id = sqlc.arg(ticket) on conflict do nothing;

-- name: MoveTicketsOfContact :exec
update messaging.tickets set contact_id = sqlc.arg(into_contact) where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact);

-- name: MoveMessagesOfContact :exec
update messaging.messages set contact_id = sqlc.arg(into_contact) where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact);

-- name: MoveOutboxOfContact :exec
update messaging.outbox set contact_id = sqlc.arg(into_contact) where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact);

-- name: MoveSchedulesOfContact :exec
update messaging.schedules set contact_id = sqlc.arg(into_contact) where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact);

-- name: MoveTagsOfContact :exec
insert into messaging.contact_tags (company_id, contact_id, tag_id)
select o.company_id, sqlc.arg(into_contact)::bigint, o.tag_id from messaging.contact_tags o where o.company_id = sqlc.arg(company_id) and o.contact_id = sqlc.arg(contact) on conflict do nothing;

-- name: MoveListItemsOfContact :exec
insert into messaging.contact_list_items (company_id, list_id, contact_id)
select o.company_id, o.list_id, sqlc.arg(into_contact)::bigint from messaging.contact_list_items o where o.company_id = sqlc.arg(company_id) and o.contact_id = sqlc.arg(contact) on conflict do nothing;

-- name: MergeContact :one
-- What is known of a contact from another one, which is the same person: what it does not know
-- itself, and that the person wants no messages.
update messaging.contacts c set name = sqlc.arg(name), email = case when c.email = '' then o.email else c.email end,
  picture_url = case when c.picture_url = '' then o.picture_url else c.picture_url end, extra_info = case when c.extra_info = '[]' then o.extra_info else c.extra_info end,
  disable_bot = c.disable_bot or o.disable_bot, consent = case when o.consent = 'opted_out' or c.consent = 'unknown' then o.consent else c.consent end,
  consent_at = case when o.consent = 'opted_out' or c.consent = 'unknown' then o.consent_at else c.consent_at end,
  last_inbound_at = greatest(c.last_inbound_at, o.last_inbound_at), out_of_hours_at = greatest(c.out_of_hours_at, o.out_of_hours_at), updated_at = sqlc.arg(at)::timestamptz
from messaging.contacts o where c.company_id = sqlc.arg(company_id) and c.id = sqlc.arg(id) and o.company_id = c.company_id and o.id = sqlc.arg(other) returning c.*;
