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

-- name: ClaimDueSchedule :one
select * from messaging.schedules where status = 'pending' and send_at <= sqlc.arg(at)::timestamptz order by send_at, id limit 1 for no key update skip locked;

-- name: SettleSchedule :exec
-- The network has accepted the message of a schedule, or never will.
update messaging.schedules set status = sqlc.arg(status)::text, sent_at = coalesce(sent_at, sqlc.narg(sent_at)), error = sqlc.narg(error), updated_at = sqlc.arg(at)::timestamptz
where company_id = sqlc.arg(company_id) and message_id = sqlc.arg(message_id)::text and status <> sqlc.arg(status)::text;
