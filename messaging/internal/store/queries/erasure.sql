-- name: AnonymizeContactRow :one
update messaging.contacts set name = sqlc.arg(name), number = '', number_key = 'anonymized:' || id, network_number = null, lid = null, email = '', picture_url = '', extra_info = '[]', disable_bot = true,
  consent = 'opted_out', consent_at = coalesce(consent_at, sqlc.arg(at)::timestamptz), anonymized_at = sqlc.arg(at)::timestamptz, updated_at = sqlc.arg(at)::timestamptz
where company_id = sqlc.arg(company_id) and id = sqlc.arg(id) returning *;

-- name: CountOthersWithEmail :one
select count(*) from messaging.contacts where company_id = $1 and id <> $2 and email <> '' and lower(email) = lower(sqlc.arg(email)::text);

-- name: EraseMessagesOfContact :exec
-- Direction and time stay. Ids of networks may have the number in them: a keyed hash of the id takes
-- its place, by which a message that comes again is recognized, see Tx.IsRemoteIDStored.
update messaging.messages set remote_id = 'anonymized:' || encode(sha256(sqlc.arg(key)::bytea || convert_to(remote_id, 'UTF8')), 'hex'), body = '', template = null, media_id = null, media_reference = null, media_name = null, mime_type = null, size = null, external_key = null, updated_at = sqlc.arg(at)
where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact_id);

-- name: ListsOfContact :many
select l.id, l.name from messaging.contact_lists l join messaging.contact_list_items i on i.company_id = l.company_id and i.list_id = l.id
where i.company_id = $1 and i.contact_id = $2 order by l.id;

-- name: SchedulesOfContact :many
select * from messaging.schedules where company_id = $1 and contact_id = $2 order by id;

-- name: ShipmentsOfContact :many
select sqlc.embed(s), c.name from messaging.campaign_shipments s join messaging.campaigns c on c.company_id = s.company_id and c.id = s.campaign_id
where s.company_id = $1 and s.contact_id = $2 order by s.campaign_id;

-- name: AllAppointmentQuestionsOfContact :many
select * from messaging.appointment_questions where company_id = $1 and contact_id = $2 order by id;

-- name: EraseTicketsOfContact :exec
update messaging.tickets set last_message = '', resolution = null, unread_messages = 0 where company_id = $1 and contact_id = $2;

-- name: LiveTicketsOfContact :many
select * from messaging.tickets where company_id = $1 and contact_id = $2 and status in ('open', 'pending') order by id for no key update;

-- name: DeleteListItemsOfContact :exec
delete from messaging.contact_list_items where company_id = $1 and contact_id = $2;

-- name: TicketsOfContact :many
select * from messaging.tickets where company_id = $1 and contact_id = $2 order by id;

-- name: MessagesOfContact :many
select * from messaging.messages where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact_id) and seq > sqlc.arg(after)::bigint order by seq limit sqlc.arg(max_rows)::int;

-- name: CompaniesWithRetention :many
select * from messaging.companies where retention_days is not null order by id;

-- name: DeleteOldMessages :many
-- Of closed tickets, and of campaigns that nobody answered, unless it is open whether they are
-- sent. They come back with their tickets and files.
delete from messaging.messages where (company_id, id) in (
  select m.company_id, m.id from messaging.messages m left join messaging.tickets t on t.company_id = m.company_id and t.id = m.ticket_id
  where m.company_id = sqlc.arg(company_id) and m.sent_at < sqlc.arg(before)::timestamptz and (t.id is null or t.status = 'closed')
    and not exists (select from messaging.outbox o where o.company_id = m.company_id and o.message_id = m.id)
    and not exists (select from messaging.unclear_messages u where u.company_id = m.company_id and u.message_id = m.id)
  order by m.sent_at limit sqlc.arg(max_rows)::int)
returning coalesce(ticket_id, 0)::bigint as ticket_id, media_id;

-- name: ClearLastMessages :exec
-- Of tickets that have no message any more.
update messaging.tickets t set last_message = '' where t.company_id = sqlc.arg(company_id) and t.id = any(sqlc.arg(tickets)::bigint[]) and t.last_message <> ''
  and not exists (select from messaging.messages m where m.company_id = t.company_id and m.ticket_id = t.id);

-- name: LockContactsOfPerson :many
-- By a number of its own; by a number or an address that others may have, together with the name.
select * from messaging.contacts c
where c.company_id = sqlc.arg(company_id) and (
    c.number_key = any(sqlc.arg(own_keys)::text[])
    or (c.number_key = any(sqlc.arg(shared_keys)::text[]) or c.email <> '' and lower(c.email) = lower(sqlc.arg(email)::text))
       and messaging.search_form(c.name) = messaging.search_form(sqlc.arg(name)::text))
order by c.id for no key update;

-- name: CompaniesWithRemoteIDChecks :many
select distinct company_id from messaging.remote_id_checks order by company_id;

-- name: ClaimRemoteIDChecks :many
-- Anonymized contacts that no other process is checking.
select contact_id from messaging.remote_id_checks where company_id = sqlc.arg(company_id) order by contact_id limit sqlc.arg(max_rows)::int for update skip locked;

-- name: HashRemoteIDs :execrows
-- Of messages of anonymized contacts, as EraseMessagesOfContact does. A message that is stored once more, by
-- its hash, loses the id.
update messaging.messages m set remote_id = case when not exists (
    select from messaging.messages d where d.company_id = m.company_id and d.connection_id = m.connection_id and d.remote_id = raw.hash) then raw.hash end
from (
  select r.company_id, r.id, 'anonymized:' || encode(sha256(sqlc.arg(key)::bytea || convert_to(r.remote_id, 'UTF8')), 'hex') as hash from messaging.messages r
  where r.company_id = sqlc.arg(company_id) and r.contact_id = any(sqlc.arg(contacts)::bigint[]) and r.remote_id not like 'anonymized:%'
  order by r.seq limit sqlc.arg(max_rows)::int for no key update) raw
where m.company_id = raw.company_id and m.id = raw.id;

-- name: DeleteRemoteIDChecks :exec
delete from messaging.remote_id_checks where company_id = sqlc.arg(company_id) and contact_id = any(sqlc.arg(contacts)::bigint[]);
