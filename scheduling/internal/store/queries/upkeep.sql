-- name: DueReminders :many
select r.org_id, r.appointment_id, r.offset_minutes, r.channel, r.due_at from scheduling.reminders r
where r.sent_at is null and r.due_at <= @now::timestamptz and coalesce(r.retry_at, r.due_at) <= @now
order by r.due_at limit @row_limit::int;

-- name: LockReminder :one
select * from scheduling.reminders where org_id = $1 and appointment_id = $2 and offset_minutes = $3 and channel = $4 and due_at = $5
and sent_at is null for update;

-- name: NearerReminder :one
select exists(select from scheduling.reminders where org_id = @org_id and appointment_id = @appointment_id and channel = @channel
and offset_minutes < @offset_minutes and due_at <= @now::timestamptz) as found;

-- name: ReminderSent :exec
update scheduling.reminders set sent_at = @now::timestamptz where org_id = @org_id and appointment_id = @appointment_id
and offset_minutes = @offset_minutes and channel = @channel and due_at = @due_at;

-- name: ReminderClaimed :exec
update scheduling.reminders set claimed_at = sqlc.narg('claimed_at'), retry_at = sqlc.narg('retry_at'), attempts = @attempts
where org_id = @org_id and appointment_id = @appointment_id and offset_minutes = @offset_minutes and channel = @channel and due_at = @due_at;

-- name: DropReminder :exec
delete from scheduling.reminders where org_id = $1 and appointment_id = $2 and offset_minutes = $3 and channel = $4 and due_at = $5 and sent_at is null;

-- name: ProfessionalAnywhere :one
select * from scheduling.professionals where id = $1 and deleted_at is null;

-- name: ExpiringPrograms :many
select o.id from scheduling.loyalty_programs l join scheduling.organizations o on o.id = l.org_id
where l.enabled and l.points_expiration_days is not null order by o.id;

-- name: ClientsWithOldPoints :many
select distinct c.id from scheduling.clients c join scheduling.loyalty_entries e on e.org_id = c.org_id and e.client_id = c.id
where c.org_id = @org_id and c.loyalty_points > 0 and c.anonymized_at is null and e.points > 0 and e.created_at < @before::timestamptz
and c.id > @after order by c.id limit @row_limit::int;

-- name: BirthdayPrograms :many
select o.id from scheduling.loyalty_programs l join scheduling.organizations o on o.id = l.org_id
where l.enabled and l.birthday_bonus > 0 order by o.id;

-- name: Birthdays :many
select c.id from scheduling.clients c where c.org_id = @org_id and c.birth_date is not null and c.anonymized_at is null
and extract(month from c.birth_date) = @month::int and extract(day from c.birth_date) = any(@days::int[])
and not exists (select from scheduling.loyalty_entries e where e.org_id = c.org_id and e.type = 'bonus'
    and e.source = 'birthday:' || c.id::text || ':' || @year::text)
order by c.id limit @row_limit::int;

-- name: ForgetIdempotency :execrows
delete from scheduling.idempotency where created_at < @before::timestamptz;

-- name: ForgetProofs :execrows
delete from scheduling.spent_proofs where expires_at < @before::timestamptz;

-- name: ForgetHolds :execrows
delete from scheduling.holds where expires_at < @before::timestamptz;

-- name: ForgetOldSlugs :execrows
delete from scheduling.old_slugs where redirects_until < @before::timestamptz;

-- name: ForgetNotices :execrows
delete from scheduling.provider_events where processed_at < @before::timestamptz;

-- name: ForgetWaiting :execrows
delete from scheduling.waitlist where last_date < @before::date;

-- name: AddWaiting :exec
insert into scheduling.waitlist (org_id, id, service_id, professional_id, client_id, first_date, last_date, created_at, contact_name, contact_email)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: SameWaiting :one
select id from scheduling.waitlist where org_id = @org_id and service_id = @service_id and client_id = @client_id
and professional_id is not distinct from sqlc.narg('professional_id') and first_date = @first_date and last_date = @last_date and offered_at is null
and contact_email = @contact_email;

-- name: CountWaiting :one
select count(*)::int from scheduling.waitlist where org_id = $1 and client_id = $2 and offered_at is null;

-- name: Waiting :many
select w.* from scheduling.waitlist w where w.org_id = @org_id and w.offered_at is null and @date::date between w.first_date and w.last_date
and (w.professional_id is null or w.professional_id = @professional_id)
and exists (select from scheduling.professional_services s where s.org_id = w.org_id and s.professional_id = @professional_id and s.service_id = w.service_id)
order by w.created_at, w.id limit 50;

-- name: OfferWaiting :execrows
update scheduling.waitlist set offered_at = @now::timestamptz where org_id = @org_id and id = @id and offered_at is null;
