-- name: InsertReminders :exec
insert into scheduling.reminders (org_id, appointment_id, offset_minutes, channel, due_at)
select @org_id, @appointment_id, o, c, sqlc.arg('start_at')::timestamptz - o * interval '1 minute'
from unnest(@offsets::int[]) o, unnest(@channels::text[]) c
where sqlc.arg('start_at')::timestamptz - o * interval '1 minute' > @now::timestamptz
on conflict do nothing;

-- name: DueReminders :many
-- At most org_limit of an organization: its backlog keeps no other waiting. Suspended ones have none.
select d.org_id, d.appointment_id, d.offset_minutes, d.channel, d.due_at from (
    select r.*, row_number() over (partition by r.org_id order by r.due_at) as turn from scheduling.reminders r
    where r.sent_at is null and r.channel = @channel and r.due_at <= @now::timestamptz and coalesce(r.retry_at, r.due_at) <= @now
    and r.org_id <> all(@suspended::uuid[])) d
where d.turn <= @org_limit::int order by d.turn, d.due_at limit @row_limit::int;

-- name: LockReminder :one
select * from scheduling.reminders where org_id = $1 and appointment_id = $2 and offset_minutes = $3 and channel = $4 and due_at = $5
and sent_at is null for update;

-- name: HasNearerReminder :one
-- A reminder of an earlier start of the appointment does not count.
select exists(select from scheduling.reminders where org_id = @org_id and appointment_id = @appointment_id and channel = @channel
and offset_minutes < @offset_minutes and due_at <= @now::timestamptz
and due_at + offset_minutes * interval '1 minute' = sqlc.arg('start_at')::timestamptz) as found;

-- name: SetReminderClaim :exec
update scheduling.reminders set claimed_at = sqlc.narg('claimed_at'), retry_at = sqlc.narg('retry_at'), attempts = @attempts
where org_id = @org_id and appointment_id = @appointment_id and offset_minutes = @offset_minutes and channel = @channel and due_at = @due_at;

-- name: SetReminderRetryAt :exec
-- One that another process has claimed meanwhile stays as it is.
update scheduling.reminders set retry_at = @retry_at::timestamptz where org_id = @org_id and appointment_id = @appointment_id
and offset_minutes = @offset_minutes and channel = @channel and due_at = @due_at and sent_at is null and coalesce(retry_at, due_at) <= @now::timestamptz;

-- name: SetReminderSentAt :exec
update scheduling.reminders set sent_at = @now::timestamptz where org_id = @org_id and appointment_id = @appointment_id
and offset_minutes = @offset_minutes and channel = @channel and due_at = @due_at;

-- name: DeleteReminder :exec
delete from scheduling.reminders where org_id = $1 and appointment_id = $2 and offset_minutes = $3 and channel = $4 and due_at = $5 and sent_at is null;

-- name: DeleteUnsentReminders :exec
delete from scheduling.reminders where org_id = $1 and appointment_id = $2 and sent_at is null;
