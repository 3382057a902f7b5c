-- name: InsertPatient :one
insert into clinic.patients (clinic_id, env, id, name, phone, email, cpf_enc, cpf_hmac, cpf_last2, birth_date, status, external_ref, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13) returning *;

-- name: InsertPatients :batchexec
insert into clinic.patients (clinic_id, env, id, name, phone, email, cpf_enc, cpf_hmac, cpf_last2, birth_date, status, external_ref, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13);

-- name: UpdatePatientRow :one
update clinic.patients set name = $4, phone = $5, email = $6, cpf_enc = $7, cpf_hmac = $8, cpf_last2 = $9, birth_date = $10, status = $11,
    external_ref = $12, updated_at = $13
where clinic_id = $1 and env = $2 and id = $3 returning *;

-- name: Patient :one
select * from clinic.patients where clinic_id = $1 and env = $2 and id = $3;

-- name: LockPatient :one
select * from clinic.patients where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: LockPatientShared :one
select * from clinic.patients where clinic_id = $1 and env = $2 and id = $3 for share;

-- name: LockPatients :many
-- In the order of their ids, to avoid deadlocks.
select * from clinic.patients where clinic_id = @clinic_id and env = @env and id = any(@ids::uuid[]) order by id for update;

-- name: PatientsByPhone :many
-- Patients with exactly this number come first, then active ones, then the oldest.
select p.* from clinic.patients p
where p.clinic_id = @clinic_id and p.env = @env and p.status <> 'anonymized' and p.id in (
    select q.id from clinic.patients q where q.clinic_id = @clinic_id and q.env = @env and q.phone_key = @phone_key
    union all
    select l.patient_id from clinic.linked_phones l where l.clinic_id = @clinic_id and l.env = @env and l.phone_key = @phone_key)
order by (p.phone is not distinct from @phone::text) desc, (p.status = 'active') desc, p.created_at, p.id limit @row_limit::int;

-- name: PatientIDsByExternalRefs :many
select id from clinic.patients where clinic_id = @clinic_id and env = @env and external_ref = any(@refs::text[]);

-- name: PatientsByIDs :many
select * from clinic.patients where clinic_id = @clinic_id and env = @env and id = any(@ids::uuid[]) order by id;

-- name: PatientIDsByCPFHashes :many
select id from clinic.patients where clinic_id = @clinic_id and env = @env and cpf_hmac = any(@hashes::bytea[]);

-- name: PatientIDsByPhoneKeys :many
select id from clinic.patients where clinic_id = @clinic_id and env = @env and phone_key = any(@phone_keys::text[]) and status <> 'anonymized';

-- name: PatientIDsByNamesWithoutPhone :many
-- Also those with one of the numbers that forms are filled with.
select id from clinic.patients where clinic_id = @clinic_id and env = @env and name_search = any(@names::text[]) and (phone is null or phone_key = any(@fillers::text[])) and status <> 'anonymized';

-- name: PatientsOfAllClinicsByPhone :many
-- Of all clinics, by their own numbers and by linked ones.
select p.* from clinic.patients p
where p.env = 'live' and p.status <> 'anonymized' and (p.clinic_id, p.env, p.id) in (
    select q.clinic_id, q.env, q.id from clinic.patients q where q.phone_key = any(@phone_keys::text[])
    union all
    select l.clinic_id, l.env, l.patient_id from clinic.linked_phones l where l.phone_key = any(@phone_keys::text[]))
order by p.created_at, p.id limit 100;

-- name: PatientsOfAllClinicsByEmail :many
select * from clinic.patients where lower(email) = @email::text and env = 'live' and status <> 'anonymized' order by created_at, id limit 100;

-- name: PatientsOfAllClinicsByCPFEnd :many
-- The newest first: two digits match many.
select * from clinic.patients where cpf_last2 = @cpf_last2::text and env = 'live' and status <> 'anonymized' order by created_at desc, id limit 100;

-- name: AggregatesOfPatients :many
-- Computed values beside a patient's row. Zero times stand for none.
select p.id,
    coalesce((select max(a.starts_at) from clinic.appointments a where a.clinic_id = p.clinic_id and a.env = p.env and a.patient_id = p.id
        and a.starts_at <= @now::timestamptz and a.status not in ('cancelled', 'no_show')), '0001-01-01 00:00:00Z')::timestamptz as last_at,
    coalesce((select min(a.starts_at) from clinic.appointments a where a.clinic_id = p.clinic_id and a.env = p.env and a.patient_id = p.id
        and a.starts_at > @now and a.status in ('scheduled', 'confirmed')), '0001-01-01 00:00:00Z')::timestamptz as next_at,
    coalesce((select sum(m.amount) from clinic.payments m where m.clinic_id = p.clinic_id and m.env = p.env and m.patient_id = p.id
        and m.status in ('pending', 'overdue')), 0)::numeric as balance
from clinic.patients p where p.clinic_id = @clinic_id and p.env = @env and p.id = any(@ids::uuid[]);

-- name: PatientByTicket :one
select p.* from clinic.tickets t join clinic.patients p on p.clinic_id = t.clinic_id and p.env = t.env and p.id = t.patient_id
where t.clinic_id = @clinic_id and t.env = @env and t.source = @source and t.ticket_id = @ticket_id;

-- name: PatientByAppointment :one
select p.* from clinic.appointments a join clinic.patients p on p.clinic_id = a.clinic_id and p.env = a.env and p.id = a.patient_id
where a.clinic_id = @clinic_id and a.env = @env and a.source = @source and a.external_id = @external_id;

-- name: AnonymizePatient :exec
update clinic.patients set name = 'Removed', phone = null, email = null, cpf_enc = null, cpf_hmac = null, cpf_last2 = null, birth_date = null,
    external_ref = null, status = 'anonymized', anonymized_at = $4, updated_at = $4 where clinic_id = $1 and env = $2 and id = $3;
