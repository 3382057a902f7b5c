-- name: InsertInboxEntry :exec
insert into clinic.inbox (clinic_id, env, id, source, event_id, event_type, occurred_at, phone, name, external_id, data_enc, email_hmac, meant_for, received_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) on conflict (clinic_id, env, source, event_id) do nothing;

-- name: CountInboxEntries :one
-- Up to max_count.
select count(*)::int from (select from clinic.inbox i where i.clinic_id = @clinic_id and i.env = @env and i.status = @status::text limit @max_count::int) n;

-- name: InboxPage :many
-- The rows before the page are read from the index alone.
select o.* from clinic.inbox o where o.clinic_id = @clinic_id and o.env = @env and o.id = any(array(
    select i.id from clinic.inbox i where i.clinic_id = @clinic_id and i.env = @env and i.status = @status::text
    order by i.id desc limit @row_limit::int offset @row_offset::int))
order by o.id desc;

-- name: UniquePatientsByPhone :many
-- The phone keys that exactly one patient has, as their own number or as a linked one.
select k.phone_key::text as phone_key, (array_agg(p.id))[1]::uuid as patient_id from (
    select q.phone_key, q.id from clinic.patients q where q.clinic_id = @clinic_id and q.env = @env and q.phone_key = any(@phone_keys::text[])
    union
    select l.phone_key, l.patient_id from clinic.linked_phones l where l.clinic_id = @clinic_id and l.env = @env and l.phone_key = any(@phone_keys::text[])) k
join clinic.patients p on p.clinic_id = @clinic_id and p.env = @env and p.id = k.id and p.status <> 'anonymized'
group by k.phone_key having count(*) = 1;

-- name: LockInboxEntry :one
select * from clinic.inbox where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: InboxEntry :one
select * from clinic.inbox where clinic_id = $1 and env = $2 and id = $3;

-- name: RenameWaitingSubject :exec
update clinic.inbox set external_id = @masked_id where clinic_id = @clinic_id and env = @env and status = 'open' and source = @source and external_id = @external_id;

-- name: HasNewerWaitingBooking :one
-- Whether a newer description of an appointment, with another phone number, waits for a user.
select exists (select from clinic.inbox i where i.clinic_id = @clinic_id and i.env = @env and i.status = 'open' and i.source = @source and i.external_id = @external_id::text
    and i.occurred_at > @occurred_at and i.event_type = 'appointment.created' and i.meant_for is null and i.phone_key <> coalesce(sqlc.narg('phone_key')::text, ''));

-- name: WaitingEntries :many
-- The oldest open entries with a phone key, or about a ticket or appointment, after a cursor; and, wherever they stand, those
-- that wait for their turn behind a linking. Without the entry @id itself.
select i.id, i.occurred_at, i.source, i.external_id, i.meant_for from clinic.inbox i
where i.clinic_id = @clinic_id and i.env = @env and i.id <> @id and i.id = any(array(
    select x.id from (select a.id from clinic.inbox a where a.clinic_id = @clinic_id and a.env = @env and a.status = 'open' and a.phone_key = sqlc.narg('phone_key')::text
        and (a.occurred_at, a.id) > (@after_at::timestamptz, @after_id::uuid) order by a.occurred_at, a.id limit @row_limit::int) x
    union all
    select y.id from (select b.id from clinic.inbox b where b.clinic_id = @clinic_id and b.env = @env and b.status = 'open' and b.source = @source::text and b.external_id = sqlc.narg('external_id')::text
        and (b.occurred_at, b.id) > (@after_at::timestamptz, @after_id::uuid) order by b.occurred_at, b.id limit @row_limit::int) y
    union all
    select z.id from (select c.id from clinic.inbox c where c.clinic_id = @clinic_id and c.env = @env and c.status = 'open' and c.meant_for is not null
        and (c.phone_key = sqlc.narg('phone_key')::text or c.source = @source::text and c.external_id = sqlc.narg('external_id')::text)
        order by c.occurred_at, c.id limit @row_limit::int) z))
order by i.occurred_at, i.id limit @row_limit::int;

-- name: LockEntriesAboutSame :many
-- Open entries about the tickets and appointments of those of some entries that are linked to a patient by now, without those
-- that have the phone key, which the linking reaches by itself: the oldest, in the order of their ids to avoid deadlocks.
select * from clinic.inbox i where i.clinic_id = @clinic_id and i.env = @env and i.status = 'open' and i.id = any(array(
    select b.id from (select distinct a.source, a.external_id from clinic.inbox a where a.clinic_id = @clinic_id and a.env = @env and a.id = any(@ids::uuid[])
        and a.patient_id = @patient_id::uuid and a.status = 'linked' and a.external_id is not null) s
    join clinic.inbox b on b.clinic_id = @clinic_id and b.env = @env and b.status = 'open'
        and b.source = s.source and b.external_id = s.external_id and b.meant_for is null and b.phone_key is distinct from @phone_key::text
    order by b.occurred_at, b.id limit @row_limit::int))
order by i.id for update;

-- name: SubjectsStillWaiting :many
-- The tickets and appointments of which LockEntriesAboutSame finds entries after a cursor, without those that a linking reaches.
select s.source, s.external_id::text as external_id from (select distinct a.source, a.external_id from clinic.inbox a where a.clinic_id = @clinic_id and a.env = @env
    and a.id = any(@ids::uuid[]) and a.patient_id = @patient_id::uuid and a.status = 'linked' and a.external_id is not null) s
where exists (select from clinic.inbox b where b.clinic_id = @clinic_id and b.env = @env and b.status = 'open' and b.source = s.source and b.external_id = s.external_id
    and b.meant_for is null and b.phone_key is distinct from @phone_key::text and (b.occurred_at, b.id) > (@after_at::timestamptz, @after_id::uuid))
and not exists (select from clinic.linkings l where l.clinic_id = @clinic_id and l.env = @env and l.patient_id = @patient_id and l.source = s.source
    and l.external_id = s.external_id and (l.after_at, l.after_id) <= (@after_at, @after_id))
order by s.source, s.external_id;

-- name: LockInboxEntries :many
-- The entry @id, and those of the others that are still open, in the order of their ids to avoid deadlocks.
select * from clinic.inbox where clinic_id = @clinic_id and env = @env and id = any(@ids::uuid[]) and (status = 'open' or id = @id) order by id for update;

-- name: SettleInboxEntry :one
update clinic.inbox set status = $4, patient_id = $5, settled_by = $6, settled_at = $7, data_enc = null, phone = null, name = null, email_hmac = null, meant_for = null
where clinic_id = $1 and env = $2 and id = $3 returning *;

-- name: ReleaseInboxEntry :exec
-- It waits for a user to link or dismiss it.
update clinic.inbox set meant_for = null where clinic_id = $1 and env = $2 and id = $3;

-- name: ReleaseEntriesForOthers :exec
-- Entries of other patients that waited behind a linking that is deleted: they wait for a user again.
update clinic.inbox set meant_for = null where clinic_id = @clinic_id and env = @env and meant_for is not null and meant_for <> @patient_id
and (phone_key = sqlc.narg('phone_key')::text or source = @source::text and external_id = sqlc.narg('external_id')::text);

-- name: EntriesAwaitingLinking :many
-- Open entries that a linking has not reached yet, without their data.
select i.id, i.source, i.external_id from clinic.inbox i where i.clinic_id = @clinic_id and i.env = @env and i.status = 'open' and i.meant_for is null
and (i.occurred_at, i.id) > (@after_at::timestamptz, @after_id::uuid)
and (i.phone_key = sqlc.narg('phone_key')::text or i.source = @source::text and i.external_id = sqlc.narg('external_id')::text);

-- name: InboxEntryCandidates :many
-- Entries that may be about a patient: linked to the patient, or open with one of the phone keys or e-mail hashes. Entries from
-- before e-mail hashes were stored are included too: their address is not known yet.
select * from clinic.inbox i where i.clinic_id = @clinic_id and i.env = @env and i.patient_id = @patient_id::uuid
union all
select * from clinic.inbox i where i.clinic_id = @clinic_id and i.env = @env and i.status = 'open' and (i.meant_for is null or i.meant_for = @patient_id)
and i.id = any(array(
    select a.id from clinic.inbox a where a.clinic_id = @clinic_id and a.env = @env and a.meant_for = @patient_id
    union all
    select b.id from clinic.inbox b where b.clinic_id = @clinic_id and b.env = @env and b.status = 'open' and b.phone_key = any(@phone_keys::text[])
    union all
    select c.id from clinic.inbox c where c.clinic_id = @clinic_id and c.env = @env and c.status = 'open' and c.email_hmac = any(@emails::bytea[])
    union all
    select d.id from clinic.inbox d where d.clinic_id = @clinic_id and d.env = @env and d.status = 'open' and d.email_hmac is null and d.event_type = 'contact.created'));

-- name: DeleteInboxEntries :exec
-- Locked in the order of their ids. An entry that was linked to another patient meanwhile stays.
delete from clinic.inbox d where d.clinic_id = @clinic_id and d.env = @env and d.id in (
    select i.id from clinic.inbox i where i.clinic_id = @clinic_id and i.env = @env and i.id = any(@ids::uuid[])
    and (i.patient_id = @patient_id::uuid or i.status = 'open') order by i.id for update);

-- name: EntriesWithoutEmailHash :many
-- Open entries of all clinics from before e-mail hashes were stored.
select * from clinic.inbox where status = 'open' and email_hmac is null and (clinic_id, env, id) > (@clinic_id::uuid, @env::text, @id::uuid)
order by clinic_id, env, id limit @row_limit::int for update skip locked;

-- name: SetInboxEmailHash :exec
update clinic.inbox set email_hmac = $4 where clinic_id = $1 and env = $2 and id = $3 and status = 'open';

-- name: DeleteOldOpenEntries :execrows
-- Old open entries of all clinics, except those that are being linked to a patient.
delete from clinic.inbox d where (d.clinic_id, d.env, d.id) in (
    select i.clinic_id, i.env, i.id from clinic.inbox i where i.status = 'open' and i.received_at < @before and i.meant_for is null
    and not exists (select from clinic.linkings l where l.clinic_id = i.clinic_id and l.env = i.env
        and (l.phone_key = i.phone_key or l.source = i.source and l.external_id = i.external_id))
    order by i.received_at limit @row_limit::int for update of i skip locked);

-- name: DeleteOldSettledEntries :execrows
delete from clinic.inbox d where (d.clinic_id, d.env, d.id) in (
    select i.clinic_id, i.env, i.id from clinic.inbox i where i.status <> 'open' and i.settled_at < @before
    order by i.settled_at limit @row_limit::int for update of i skip locked);

-- name: WaitingInboxes :many
-- Inboxes with open entries, those after a clinic and environment. For the hub, not for a clinic.
select clinic_id, env, count(*)::integer as waiting, min(received_at)::timestamptz as oldest_since
from clinic.inbox where status = 'open' and (clinic_id, env) > (@after_clinic::uuid, @after_env::text)
group by clinic_id, env order by clinic_id, env limit @row_limit::int;

-- name: InboxEntriesOfPatient :many
-- Entries that are linked to a patient, or will be when older ones are, after one of them.
select * from clinic.inbox i where i.clinic_id = @clinic_id and i.env = @env and i.id > @after::uuid and i.id = any(array(
    select a.id from clinic.inbox a where a.clinic_id = @clinic_id and a.env = @env and a.patient_id = @patient_id::uuid
    union all
    select b.id from clinic.inbox b where b.clinic_id = @clinic_id and b.env = @env and b.meant_for = @patient_id))
order by i.id limit @row_limit::int;
