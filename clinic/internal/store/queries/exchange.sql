-- name: PutTicket :exec
insert into clinic.tickets (clinic_id, env, source, ticket_id, patient_id) values ($1, $2, $3, $4, $5)
on conflict (clinic_id, env, source, ticket_id) do update set patient_id = excluded.patient_id;

-- name: PatientOfTicket :one
select p.* from clinic.tickets t join clinic.patients p on p.clinic_id = t.clinic_id and p.env = t.env and p.id = t.patient_id
where t.clinic_id = @clinic_id and t.env = @env and t.source = @source and t.ticket_id = @ticket_id;

-- name: PatientOfAppointment :one
select p.* from clinic.appointments a join clinic.patients p on p.clinic_id = a.clinic_id and p.env = a.env and p.id = a.patient_id
where a.clinic_id = @clinic_id and a.env = @env and a.source = @source and a.external_id = @external_id;

-- name: UpsertBooking :one
-- An appointment as a connected product tells of it; no row: it told newer things of it already, or it is
-- kept for somebody who was forgotten. Its state stays.
insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, service, professional, source, external_id, details_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
on conflict (clinic_id, env, source, external_id) do update
set patient_id = excluded.patient_id, starts_at = excluded.starts_at, service = excluded.service, professional = excluded.professional,
    details_at = excluded.details_at, updated_at = excluded.updated_at
where (appointments.details_at is null or appointments.details_at <= excluded.details_at)
and not exists (select from clinic.patients p where p.clinic_id = appointments.clinic_id and p.env = appointments.env and p.id = appointments.patient_id and p.status = 'anonymized')
returning *;

-- name: UpsertNamelessBooking :one
-- No row: newer things are known of it already.
insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, service, professional, source, details_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
on conflict (clinic_id, env, source, patient_id, starts_at) where source is not null and external_id is null do update
set service = excluded.service, professional = excluded.professional, details_at = excluded.details_at, updated_at = excluded.updated_at
where appointments.details_at is null or appointments.details_at <= excluded.details_at
returning *;

-- name: LockNamelessAt :one
-- The booking without an id at the very time that an event names.
select * from clinic.appointments where clinic_id = @clinic_id and env = @env and source = @source and patient_id = @patient_id and external_id is null
and starts_at = @starts_at for update;

-- name: LockNamelessBetween :many
-- Bookings without an id that an event without a time may be about: two are too many to know.
select * from clinic.appointments where clinic_id = @clinic_id and env = @env and source = @source and patient_id = @patient_id and external_id is null
and status in ('scheduled', 'confirmed') and starts_at > @after and starts_at <= @upto order by id limit 2 for update;

-- name: AnonymizePatient :exec
update clinic.patients set name = 'Removed', phone = null, email = null, cpf_enc = null, cpf_hmac = null, cpf_last2 = null, birth_date = null,
    external_ref = null, status = 'anonymized', anonymized_at = $4, updated_at = $4 where clinic_id = $1 and env = $2 and id = $3;

-- name: TextsOfRecords :many
select id, type, professional from clinic.records where clinic_id = $1 and env = $2 and patient_id = @patient_id;

-- name: LockRecords :exec
-- Those whose type or professional names the patient lose that too.
update clinic.records set locked_at = @now::timestamptz, updated_at = @now, external_summary = '', url = null, external_ref = null,
    type = case when id = any(@types::uuid[]) then @nobody::text else type end,
    professional = case when id = any(@professionals::uuid[]) then '' else professional end
where clinic_id = @clinic_id and env = @env and patient_id = @patient_id;

-- name: TextsOfInteractions :many
select id, type, source, source_id from clinic.interactions where clinic_id = $1 and env = $2 and patient_id = @patient_id;

-- name: ForgetInteractions :exec
-- Ids and hidden go together.
update clinic.interactions i set summary = '', updated_at = @now,
    type = case when i.id = any(@types::uuid[]) then @nobody::text else i.type end,
    source = case when i.id = any(@sources::uuid[]) then @nobody else i.source end,
    source_id = coalesce(f.hidden, i.source_id)
from clinic.interactions o left join (select unnest(@ids::uuid[]) as id, unnest(@hidden::text[]) as hidden) f on f.id = o.id
where (i.clinic_id, i.env, i.id) = (o.clinic_id, o.env, o.id) and o.clinic_id = @clinic_id and o.env = @env and o.patient_id = @patient_id;

-- name: ForgottenSource :one
select exists (select from clinic.interactions where clinic_id = @clinic_id and env = @env and source = any(@sources::text[]) and source_id = @source_id and origin = @origin);

-- name: TextsOfAppointments :many
select id, service, professional, source, external_id from clinic.appointments where clinic_id = $1 and env = $2 and patient_id = @patient_id;

-- name: ForgetAppointments :exec
-- Ids and hidden go together.
update clinic.appointments a set reason = null, updated_at = @now,
    service = case when a.id = any(@services::uuid[]) then '' else a.service end,
    professional = case when a.id = any(@professionals::uuid[]) then '' else a.professional end,
    external_id = coalesce(f.hidden, a.external_id)
from clinic.appointments o left join (select unnest(@ids::uuid[]) as id, unnest(@hidden::text[]) as hidden) f on f.id = o.id
where (a.clinic_id, a.env, a.id) = (o.clinic_id, o.env, o.id) and o.clinic_id = @clinic_id and o.env = @env and o.patient_id = @patient_id;

-- name: MethodsOfPayments :many
select id, method::text from clinic.payments where clinic_id = $1 and env = $2 and patient_id = @patient_id and method is not null;

-- name: ForgetPayments :exec
update clinic.payments set description = '', updated_at = @now, method = case when id = any(@methods::uuid[]) then null else method end
where clinic_id = @clinic_id and env = @env and patient_id = @patient_id;

-- name: ForgetTickets :many
delete from clinic.tickets where clinic_id = @clinic_id and env = @env and patient_id = @patient_id returning source, ticket_id;

-- name: ForgetPhones :many
delete from clinic.linked_phones where clinic_id = @clinic_id and env = @env and patient_id = @patient_id returning phone_key;

-- name: SharedPhones :many
-- Which of some numbers another patient has too.
select k.key::text from unnest(@phone_keys::text[]) k(key)
where exists (select from clinic.patients p where p.clinic_id = @clinic_id and p.env = @env and p.phone_key = k.key and p.status <> 'anonymized' and p.id <> @patient_id)
or exists (select from clinic.linked_phones l where l.clinic_id = @clinic_id and l.env = @env and l.phone_key = k.key and l.patient_id <> @patient_id);

-- name: SharedEmails :many
-- Which of some addresses, in lower case, another patient has too.
select e.email::text from unnest(@emails::text[]) e(email)
where exists (select from clinic.patients p where p.clinic_id = @clinic_id and p.env = @env and lower(p.email) = e.email and p.status <> 'anonymized' and p.id <> @patient_id);

-- name: EventsOf :many
-- The events of connected products that stand on a patient's history, or are on their way there.
select h.source_id from clinic.interactions h where h.clinic_id = @clinic_id and h.env = @env and h.patient_id = @patient_id and h.origin = 'event' and h.source_id like 'evt\_%'
union
select i.event_id from clinic.linkings l join clinic.inbox i on i.clinic_id = l.clinic_id and i.env = l.env and i.status = 'open' and i.meant_for is null
    and (i.phone_key = l.phone_key or i.source = l.source and i.external_id = l.external_id) and (i.occurred_at, i.id) > (l.after_at, l.after_id)
where l.clinic_id = @clinic_id and l.env = @env and l.patient_id = @patient_id and i.event_id like 'evt\_%'
union
select i.event_id from clinic.inbox i where i.clinic_id = @clinic_id and i.env = @env and i.meant_for = @patient_id and i.event_id like 'evt\_%';

-- name: KeepEarlier :exec
insert into clinic.earlier_contacts (clinic_id, env, id, patient_id, kind, value_enc, value_hmac, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (clinic_id, env, patient_id, kind, value_hmac) do nothing;

-- name: ForgetEarlier :many
delete from clinic.earlier_contacts where clinic_id = @clinic_id and env = @env and patient_id = @patient_id returning id, kind, value_enc;

-- name: Forget :exec
insert into clinic.forgotten (clinic_id, env, hash, forgotten_at) select @clinic_id, @env, unnest(@hashes::bytea[]), @forgotten_at on conflict do nothing;

-- name: Forgotten :many
select hash from clinic.forgotten where clinic_id = @clinic_id and env = @env and hash = any(@hashes::bytea[]);

-- name: InsertDeletionRequest :one
insert into clinic.deletion_requests (clinic_id, env, id, patient_id, event_id, requested_by, requested_at) values ($1, $2, $3, $4, $5, $6, $7) returning *;

-- name: DeletionRequest :one
select * from clinic.deletion_requests where clinic_id = $1 and env = $2 and id = $3;

-- name: ListDeletions :many
select * from clinic.deletion_requests
where clinic_id = @clinic_id and env = @env and (@status::text = '' or status = @status)
order by id desc limit @row_limit::int offset @row_offset::int;

-- name: CountDeletions :one
select count(*)::int from (select 1 from clinic.deletion_requests
    where clinic_id = @clinic_id and env = @env and (@status::text = '' or status = @status) limit @most::int) n;

-- name: DeletionRequestOf :one
select * from clinic.deletion_requests where clinic_id = $1 and env = $2 and patient_id = @patient_id;

-- name: LockDeletionRequest :one
select * from clinic.deletion_requests where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: OpenDeletions :many
-- Those that wait for peers, or for people to tell a peer, in the order in which they were asked for.
select * from clinic.deletion_requests where status <> 'completed' and requested_at > @since
and (requested_at > @after_at or requested_at = @after_at and id > @after_id) order by requested_at, id limit @row_limit::int;

-- name: SetDeletionStatus :one
update clinic.deletion_requests set status = $4, completed_at = $5 where clinic_id = $1 and env = $2 and id = $3 returning *;

-- name: InsertDeletionPeer :exec
insert into clinic.deletion_peers (clinic_id, env, request_id, product, integration_id) values ($1, $2, $3, $4, $5);

-- name: DeletionPeers :many
select * from clinic.deletion_peers where clinic_id = $1 and env = $2 and request_id = $3 order by product;

-- name: DeletionPeersOf :many
select * from clinic.deletion_peers
where (clinic_id, env, request_id) in (select unnest(@clinics::uuid[]), unnest(@envs::text[]), unnest(@ids::uuid[])) order by product;

-- name: SettleDeletionPeer :execrows
-- Who has acknowledged, has for ever.
update clinic.deletion_peers set status = $5, acknowledged_at = $6, acknowledged_by = $7, note = $8
where clinic_id = $1 and env = $2 and request_id = $3 and product = $4 and status <> 'acknowledged';
