-- name: InsertSchedule :one
insert into messaging.schedules (company_id, contact_id, ticket_id, user_id, connection_id, body, media_id, send_at, template, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) returning *;

-- name: Schedule :one
select * from messaging.schedules where company_id = $1 and id = $2;

-- name: LockSchedule :one
select * from messaging.schedules where company_id = $1 and id = $2 for no key update;

-- name: UpdateSchedule :one
update messaging.schedules set contact_id = $3, ticket_id = $4, connection_id = $5, body = $6, media_id = $7, send_at = $8, status = $9, message_id = $10,
  attempts = $11, error = $12, sent_at = $13, template = $14, updated_at = $15
where company_id = $1 and id = $2 returning *;

-- name: DeleteSchedule :exec
delete from messaging.schedules where company_id = $1 and id = $2;

-- name: DeleteOldSchedules :many
-- Those that were sent or failed before a time. They come back with their files.
delete from messaging.schedules where (company_id, id) in (
  select s.company_id, s.id from messaging.schedules s
  where s.company_id = sqlc.arg(company_id) and s.status in ('sent', 'error') and greatest(s.send_at, coalesce(s.sent_at, s.updated_at)) < sqlc.arg(before)::timestamptz
  order by s.send_at limit sqlc.arg(max_rows)::int)
returning id, coalesce(media_id, '')::text as media_id;

-- name: DeleteSchedulesOfContact :exec
delete from messaging.schedules where company_id = $1 and contact_id = $2;

-- name: ScheduleCount :one
select count(*) from messaging.schedules where company_id = sqlc.arg(company_id)
  and (sqlc.narg(user_id)::bigint is null or user_id = sqlc.narg(user_id)::bigint) and (sqlc.narg(contact_id)::bigint is null or contact_id = sqlc.narg(contact_id)::bigint)
  and (sqlc.arg(status)::text = '' or status = sqlc.arg(status)::text)
  and (sqlc.arg(search)::text = '' or strpos(messaging.search_form(body), messaging.search_form(sqlc.arg(search)::text)) > 0);

-- name: SchedulesPage :many
select * from messaging.schedules where company_id = sqlc.arg(company_id)
  and (sqlc.narg(user_id)::bigint is null or user_id = sqlc.narg(user_id)::bigint) and (sqlc.narg(contact_id)::bigint is null or contact_id = sqlc.narg(contact_id)::bigint)
  and (sqlc.arg(status)::text = '' or status = sqlc.arg(status)::text)
  and (sqlc.arg(search)::text = '' or strpos(messaging.search_form(body), messaging.search_form(sqlc.arg(search)::text)) > 0)
order by send_at desc, id desc offset sqlc.arg(skip)::int limit sqlc.arg(max_rows)::int;

-- name: CompaniesWithDueSchedules :many
-- The one that waits for the longest time first.
select company_id from messaging.schedules where status = 'pending' and send_at <= sqlc.arg(at)::timestamptz and not company_id = any(sqlc.arg(excluded)::bigint[])
group by company_id order by min(send_at), company_id limit sqlc.arg(max_rows)::int;

-- name: LockAvailableCompany :one
-- No row if another transaction has locked the company.
select * from messaging.companies where id = $1 for no key update skip locked;

-- name: ClaimDueSchedules :many
-- The oldest due ones of a company. The transaction has locked the company, so that no later
-- ones are claimed elsewhere meanwhile.
select * from messaging.schedules where company_id = sqlc.arg(company_id) and status = 'pending' and send_at <= sqlc.arg(at)::timestamptz
order by send_at, id limit sqlc.arg(max_rows)::int for no key update;

-- name: LockContactsByID :many
select * from messaging.contacts where company_id = $1 and id = any(sqlc.arg(ids)::bigint[]) order by id for no key update;

-- name: LockTicketsOfSchedules :many
-- Tickets by their ids, and the live ones of contacts.
select * from messaging.tickets where company_id = sqlc.arg(company_id) and (id = any(sqlc.arg(ids)::bigint[]) or contact_id = any(sqlc.arg(contacts)::bigint[]) and status in ('open', 'pending'))
order by id for no key update;

-- name: InsertScheduledMessages :many
-- In the order of the arrays. An empty template is none.
insert into messaging.messages (company_id, id, ticket_id, contact_id, connection_id, user_id, body, from_me, is_read, media_type, media_id, media_name, mime_type, size, origin, template,
  sent_at, created_at, updated_at)
select s.company_id, n.message_id, n.ticket_id, s.contact_id, n.connection_id, s.user_id, n.body, true, true, coalesce(f.media_type, 'text'), f.id, f.name, f.mime_type, f.size, 'schedule',
  nullif(n.template, '')::jsonb, sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz
from (select unnest(sqlc.arg(schedules)::bigint[]) as schedule_id, unnest(sqlc.arg(message_ids)::text[]) as message_id, unnest(sqlc.arg(tickets)::bigint[]) as ticket_id,
    unnest(sqlc.arg(connections)::bigint[]) as connection_id, unnest(sqlc.arg(bodies)::text[]) as body, unnest(sqlc.arg(templates)::text[]) as template,
    generate_series(1, cardinality(sqlc.arg(schedules)::bigint[])) as place) n
join messaging.schedules s on s.company_id = sqlc.arg(company_id) and s.id = n.schedule_id
left join messaging.media_files f on f.company_id = s.company_id and f.id = s.media_id
order by n.place returning *;

-- name: AddSentToTickets :exec
-- Messages of programs have been added to tickets.
update messaging.tickets t set last_message = n.last_message, awaits_contact = true, updated_at = sqlc.arg(at)::timestamptz
from (select unnest(sqlc.arg(tickets)::bigint[]) as id, unnest(sqlc.arg(last_messages)::text[]) as last_message) n
where t.company_id = sqlc.arg(company_id) and t.id = n.id;

-- name: QueueSchedules :exec
update messaging.schedules s set status = 'queued', message_id = n.message_id, ticket_id = n.ticket_id, attempts = s.attempts + 1, error = null, updated_at = sqlc.arg(at)::timestamptz
from (select unnest(sqlc.arg(schedules)::bigint[]) as id, unnest(sqlc.arg(message_ids)::text[]) as message_id, unnest(sqlc.arg(tickets)::bigint[]) as ticket_id) n
where s.company_id = sqlc.arg(company_id) and s.id = n.id;

-- name: FailSchedules :exec
update messaging.schedules s set status = 'error', error = n.error, attempts = s.attempts + 1, updated_at = sqlc.arg(at)::timestamptz
from (select unnest(sqlc.arg(schedules)::bigint[]) as id, unnest(sqlc.arg(errors)::text[]) as error) n
where s.company_id = sqlc.arg(company_id) and s.id = n.id;

-- name: SettleSchedule :exec
-- The network has accepted the message of a schedule, or never will.
update messaging.schedules set status = sqlc.arg(status)::text, sent_at = coalesce(sent_at, sqlc.narg(sent_at)), error = sqlc.narg(error), updated_at = sqlc.arg(at)::timestamptz
where company_id = sqlc.arg(company_id) and message_id = sqlc.arg(message_id)::text and status <> sqlc.arg(status)::text;
