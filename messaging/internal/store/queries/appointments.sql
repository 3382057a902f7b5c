-- name: InsertAppointmentQuestion :one
insert into messaging.appointment_questions (company_id, contact_id, connection_id, message_id, integration_id, appointment_id, title, locale, first_option, asked_at, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning *;

-- name: AppointmentQuestionsOfContact :many
-- Those that may be answered, and those that expired a short time ago. interrupted: people or
-- programs have written since, so that a number may answer them.
select sqlc.embed(q), exists (
    select from messaging.messages m join messaging.messages asked on asked.company_id = q.company_id and asked.id = q.message_id
    where m.company_id = q.company_id and m.contact_id = q.contact_id and m.connection_id = q.connection_id and m.seq > asked.seq
      and m.from_me and not m.is_private and m.origin <> 'bot'
      and not exists (select from messaging.appointment_questions o where o.company_id = m.company_id and o.message_id = m.id)
  ) as interrupted
from messaging.appointment_questions q
where q.company_id = sqlc.arg(company_id) and q.contact_id = sqlc.arg(contact_id) and q.connection_id = sqlc.arg(connection_id)
  and q.expires_at > sqlc.arg(since)::timestamptz and q.status not in ('replaced', 'failed')
order by q.asked_at desc, q.id desc limit 50 for no key update of q;

-- name: ReplaceAppointmentQuestions :many
-- A later reminder of the same appointment takes the number of the earlier one.
update messaging.appointment_questions set status = 'replaced'
where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact_id) and integration_id = sqlc.arg(integration_id) and appointment_id = sqlc.arg(appointment_id)
  and status in ('open', 'confirmed') returning first_option;

-- name: AppointmentQuestion :one
select * from messaging.appointment_questions where company_id = $1 and id = $2;

-- name: LockAppointmentQuestion :one
select * from messaging.appointment_questions where company_id = $1 and id = $2 for no key update;

-- name: SetAppointmentQuestionStatus :exec
update messaging.appointment_questions set status = sqlc.arg(status)::text, answered_at = coalesce(sqlc.narg(answered_at), answered_at) where company_id = sqlc.arg(company_id) and id = sqlc.arg(id);

-- name: DeleteAppointmentQuestions :exec
delete from messaging.appointment_questions where company_id = $1 and contact_id = $2;

-- name: DeleteOldAppointmentQuestions :exec
delete from messaging.appointment_questions where expires_at < sqlc.arg(before)::timestamptz;

-- name: BookingChat :one
select * from messaging.booking_chats where company_id = $1 and ticket_id = $2;

-- name: SaveBookingChat :exec
insert into messaging.booking_chats (company_id, ticket_id, step, state, started_at) values ($1, $2, $3, $4, $5)
on conflict (company_id, ticket_id) do update set step = excluded.step, state = excluded.state, started_at = excluded.started_at;

-- name: DeleteBookingChat :exec
delete from messaging.booking_chats where company_id = $1 and ticket_id = $2;

-- name: DeleteBookingChatsOfContact :exec
delete from messaging.booking_chats b using messaging.tickets t where b.company_id = $1 and t.company_id = b.company_id and t.id = b.ticket_id and t.contact_id = $2;

-- name: EnqueueQuestionCall :exec
insert into messaging.appointment_calls (company_id, question_id, due_at, created_at) values (sqlc.arg(company_id), sqlc.arg(question_id)::bigint, sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz)
on conflict (company_id, question_id) do update set due_at = excluded.due_at, created_at = excluded.created_at, attempts = 0;

-- name: EnqueueBookingCall :exec
insert into messaging.appointment_calls (company_id, ticket_id, due_at, created_at) values (sqlc.arg(company_id), sqlc.arg(ticket_id)::bigint, sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz)
on conflict (company_id, ticket_id) do update set due_at = excluded.due_at, created_at = excluded.created_at, attempts = 0;

-- name: ClaimAppointmentCalls :many
-- One of each company, so that none waits behind another's product.
update messaging.appointment_calls set leased_until = sqlc.arg(until)::timestamptz, attempts = attempts + 1
where (company_id, id) in (
  select c.company_id, c.id from messaging.appointment_calls c
  where c.due_at <= sqlc.arg(at)::timestamptz and (c.leased_until is null or c.leased_until < sqlc.arg(at)::timestamptz)
    and not exists (select from messaging.appointment_calls o where o.company_id = c.company_id and o.leased_until >= sqlc.arg(at)::timestamptz)
    and c.id = (select min(f.id) from messaging.appointment_calls f where f.company_id = c.company_id and f.due_at <= sqlc.arg(at)::timestamptz)
  order by c.due_at limit sqlc.arg(max_rows)::int for update skip locked)
returning *;

-- name: DeleteAppointmentCall :execrows
-- Unless it was asked for again meanwhile.
delete from messaging.appointment_calls where company_id = sqlc.arg(company_id) and id = sqlc.arg(id) and attempts = sqlc.arg(attempts)::int;

-- name: PostponeAppointmentCall :exec
update messaging.appointment_calls set due_at = sqlc.arg(due_at)::timestamptz, leased_until = null where company_id = sqlc.arg(company_id) and id = sqlc.arg(id);

-- name: DecrementUnread :exec
-- Automatic messages have answered a message of the contact.
update messaging.tickets set unread_messages = greatest(unread_messages - 1, 0) where company_id = $1 and id = $2;

-- name: MessageExistsByExternalKey :one
select exists (select from messaging.messages where company_id = $1 and ticket_id = sqlc.arg(ticket_id)::bigint and external_key = sqlc.arg(external_key)::text);
