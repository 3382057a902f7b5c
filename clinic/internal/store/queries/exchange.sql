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
-- An appointment as a connected product tells of it. Its state stays: only other events change that.
insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, service, professional, source, external_id, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
on conflict (clinic_id, env, source, external_id) do update
set patient_id = excluded.patient_id, starts_at = excluded.starts_at, service = excluded.service, professional = excluded.professional, updated_at = excluded.updated_at
returning *;

-- name: UpsertNamelessBooking :one
insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, service, professional, source, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
on conflict (clinic_id, env, source, patient_id, starts_at) where source is not null and external_id is null do update
set service = excluded.service, professional = excluded.professional, updated_at = excluded.updated_at
returning *;

-- name: LockNearestNameless :one
-- The booking without an id that an event of that time can be about.
select * from clinic.appointments where clinic_id = @clinic_id and env = @env and source = @source and patient_id = @patient_id and external_id is null
order by abs(extract(epoch from (starts_at - @near::timestamptz))), id limit 1 for update;

-- name: InsertInboxEntry :exec
insert into clinic.inbox (clinic_id, env, id, source, event_id, event_type, occurred_at, phone, name, external_id, data_enc, received_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict (clinic_id, env, source, event_id) do nothing;

-- name: ListInbox :many
select sqlc.embed(i), count(*) over () as total from clinic.inbox i
where i.clinic_id = @clinic_id and i.env = @env and i.status = @status::text
order by i.id desc limit @row_limit::int offset @row_offset::int;

-- name: LockInboxEntry :one
select * from clinic.inbox where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: LockWaiting :many
-- Open entries about the same ticket or appointment, or from the same number, in their order.
select * from clinic.inbox where clinic_id = @clinic_id and env = @env and status = 'open'
and (source = @source::text and external_id = sqlc.narg('external_id')::text or phone_key = sqlc.narg('phone_key')::text)
order by occurred_at, id for update;

-- name: SettleInboxEntry :one
update clinic.inbox set status = $4, patient_id = $5, settled_by = $6, settled_at = $7, data_enc = null, phone = null, name = null
where clinic_id = $1 and env = $2 and id = $3 returning *;

-- name: LinkPhone :exec
insert into clinic.linked_phones (clinic_id, env, phone_key, patient_id, created_at) values ($1, $2, $3, $4, $5)
on conflict (clinic_id, env, phone_key) do update set patient_id = excluded.patient_id, created_at = excluded.created_at;

-- name: AnonymizePatient :exec
update clinic.patients set name = 'Removed', phone = null, email = null, cpf_enc = null, cpf_hmac = null, cpf_last2 = null, birth_date = null,
    external_ref = null, status = 'anonymized', anonymized_at = $4, updated_at = $4 where clinic_id = $1 and env = $2 and id = $3;

-- name: LockRecords :exec
update clinic.records set locked_at = @now, external_summary = '', url = null, external_ref = null
where clinic_id = @clinic_id and env = @env and patient_id = @patient_id;

-- name: ForgetInteractions :exec
update clinic.interactions set summary = '' where clinic_id = @clinic_id and env = @env and patient_id = @patient_id;

-- name: ForgetAppointments :exec
update clinic.appointments set reason = null where clinic_id = @clinic_id and env = @env and patient_id = @patient_id;

-- name: ForgetPayments :exec
update clinic.payments set description = '' where clinic_id = @clinic_id and env = @env and patient_id = @patient_id;

-- name: ForgetTickets :exec
delete from clinic.tickets where clinic_id = @clinic_id and env = @env and patient_id = @patient_id;

-- name: ForgetPhones :many
delete from clinic.linked_phones where clinic_id = @clinic_id and env = @env and patient_id = @patient_id returning phone_key;

-- name: ForgetInbox :exec
delete from clinic.inbox where clinic_id = @clinic_id and env = @env and (patient_id = @patient_id::uuid or phone_key = any(@phone_keys::text[]));

-- name: InsertDeletionRequest :one
insert into clinic.deletion_requests (clinic_id, env, id, patient_id, event_id, requested_by, requested_at) values ($1, $2, $3, $4, $5, $6, $7) returning *;

-- name: DeletionRequest :one
select * from clinic.deletion_requests where clinic_id = $1 and env = $2 and id = $3;

-- name: DeletionRequestOf :one
select * from clinic.deletion_requests where clinic_id = $1 and env = $2 and patient_id = @patient_id;

-- name: WaitingDeletions :many
select * from clinic.deletion_requests where status = 'waiting' order by requested_at limit 500;

-- name: CompleteDeletion :exec
update clinic.deletion_requests r set status = 'completed', completed_at = $4
where r.clinic_id = $1 and r.env = $2 and r.id = $3 and r.status = 'waiting'
and not exists (select from clinic.deletion_peers p where p.clinic_id = r.clinic_id and p.env = r.env and p.request_id = r.id and p.status = 'pending');

-- name: InsertDeletionPeer :exec
insert into clinic.deletion_peers (clinic_id, env, request_id, product, integration_id) values ($1, $2, $3, $4, $5);

-- name: DeletionPeers :many
select * from clinic.deletion_peers where clinic_id = $1 and env = $2 and request_id = $3 order by product;

-- name: SettleDeletionPeer :exec
update clinic.deletion_peers set status = $5, acknowledged_at = $6 where clinic_id = $1 and env = $2 and request_id = $3 and product = $4 and status = 'pending';
