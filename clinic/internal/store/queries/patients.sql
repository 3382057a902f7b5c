-- name: CreateProfessional :one
insert into clinic.professionals (clinic_id, env, id, name, specialty, register, is_active, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $8) returning *;

-- name: LockProfessional :one
select * from clinic.professionals where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: ListProfessionals :many
select * from clinic.professionals where clinic_id = @clinic_id and env = @env order by name, id limit @row_limit::int offset @row_offset::int;

-- name: UpdateProfessional :one
update clinic.professionals set name = $4, specialty = $5, register = $6, is_active = $7, updated_at = $8
where clinic_id = $1 and env = $2 and id = $3 returning *;

-- name: DeleteProfessional :execrows
delete from clinic.professionals where clinic_id = $1 and env = $2 and id = $3;

-- name: InsertPatient :one
insert into clinic.patients (clinic_id, env, id, name, phone, email, cpf_enc, cpf_hmac, cpf_last2, birth_date, status, external_ref, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13) returning *;

-- name: SetPatient :one
update clinic.patients set name = $4, phone = $5, email = $6, cpf_enc = $7, cpf_hmac = $8, cpf_last2 = $9, birth_date = $10, status = $11,
    external_ref = $12, updated_at = $13
where clinic_id = $1 and env = $2 and id = $3 returning *;

-- name: Patient :one
select * from clinic.patients where clinic_id = $1 and env = $2 and id = $3;

-- name: LockPatient :one
select * from clinic.patients where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: SharePatient :one
select * from clinic.patients where clinic_id = $1 and env = $2 and id = $3 for share;

-- name: PatientsByPhone :many
-- Those with the very number first; then by who was there first.
select p.* from clinic.patients p
where p.clinic_id = @clinic_id and p.env = @env and p.status <> 'anonymized' and p.id in (
    select q.id from clinic.patients q where q.clinic_id = @clinic_id and q.env = @env and q.phone_key = @phone_key
    union all
    select l.patient_id from clinic.linked_phones l where l.clinic_id = @clinic_id and l.env = @env and l.phone_key = @phone_key)
order by (p.phone is not distinct from @phone::text) desc, (p.status = 'active') desc, p.created_at, p.id limit @row_limit::int;

-- name: LinkedPhones :many
select phone_key from clinic.linked_phones where clinic_id = @clinic_id and env = @env and patient_id = @patient_id order by created_at, phone_key;

-- name: PatientsAnywhere :many
-- Of all clinics, also by numbers that were linked.
select p.* from clinic.patients p
where p.env = 'live' and p.status <> 'anonymized' and (p.clinic_id, p.env, p.id) in (
    select q.clinic_id, q.env, q.id from clinic.patients q where q.phone_key = any(@phone_keys::text[])
    union all
    select l.clinic_id, l.env, l.patient_id from clinic.linked_phones l where l.phone_key = any(@phone_keys::text[]))
order by p.created_at, p.id limit 100;

-- name: Figures :many
-- What is known about patients beside their own rows; zero times stand for none.
select p.id,
    coalesce((select max(a.starts_at) from clinic.appointments a where a.clinic_id = p.clinic_id and a.env = p.env and a.patient_id = p.id
        and a.starts_at <= @now::timestamptz and a.status not in ('cancelled', 'no_show')), '0001-01-01 00:00:00Z')::timestamptz as last_at,
    coalesce((select min(a.starts_at) from clinic.appointments a where a.clinic_id = p.clinic_id and a.env = p.env and a.patient_id = p.id
        and a.starts_at > @now and a.status in ('scheduled', 'confirmed')), '0001-01-01 00:00:00Z')::timestamptz as next_at,
    coalesce((select sum(m.amount) from clinic.payments m where m.clinic_id = p.clinic_id and m.env = p.env and m.patient_id = p.id
        and m.status in ('pending', 'overdue')), 0)::numeric as balance
from clinic.patients p where p.clinic_id = @clinic_id and p.env = @env and p.id = any(@ids::uuid[]);

-- name: InsertRecord :one
insert into clinic.records (clinic_id, env, id, patient_id, date, type, professional, content_enc, external_summary, url, sensitivity, external_ref, created_by, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14) returning *;

-- name: ListRecords :many
select * from clinic.records where clinic_id = @clinic_id and env = @env and patient_id = @patient_id
order by date desc, id desc limit @row_limit::int offset @row_offset::int;

-- name: CountRecords :one
-- Beside the list, not in its rows: a page beyond the last has none. So are the other lists counted.
select count(*)::int from (select 1 from clinic.records where clinic_id = @clinic_id and env = @env and patient_id = @patient_id limit @most::int) n;

-- name: VisibleRecords :many
-- What connected products may know of: not what is very restricted.
select * from clinic.records where clinic_id = @clinic_id and env = @env and patient_id = @patient_id and sensitivity <> 'V'
order by date desc, id desc limit @row_limit::int;

-- name: Record :one
select * from clinic.records where clinic_id = $1 and env = $2 and id = $3;

-- name: InsertAppointment :one
insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, service, professional, status, reason, source, external_id, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12) returning *;

-- name: SetAppointment :one
update clinic.appointments set patient_id = $4, starts_at = $5, service = $6, professional = $7, status = $8, reason = $9, reminded_at = $10, external_id = $11,
    details_at = $12, state_at = $13, updated_at = $14
where clinic_id = $1 and env = $2 and id = $3 returning *;

-- name: Appointment :one
select * from clinic.appointments where clinic_id = $1 and env = $2 and id = $3;

-- name: LockAppointment :one
select * from clinic.appointments where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: ExternalAppointment :one
select * from clinic.appointments where clinic_id = $1 and env = $2 and source = @source and external_id = @external_id;

-- name: LockExternalAppointment :one
select * from clinic.appointments where clinic_id = $1 and env = $2 and source = @source and external_id = @external_id for update;

-- name: ListAppointments :many
select * from clinic.appointments where clinic_id = @clinic_id and env = @env and patient_id = @patient_id and (@status::text = '' or status = @status)
order by starts_at desc, id desc limit @row_limit::int offset @row_offset::int;

-- name: CountAppointments :one
select count(*)::int from (select 1 from clinic.appointments
    where clinic_id = @clinic_id and env = @env and patient_id = @patient_id and (@status::text = '' or status = @status) limit @most::int) n;

-- name: InsertInteraction :one
-- No row: it is on the history already.
insert into clinic.interactions (clinic_id, env, id, patient_id, type, summary, source, source_id, occurred_at, origin, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict (clinic_id, env, source, source_id, origin) do nothing returning *;

-- name: InteractionOfSource :one
select * from clinic.interactions where clinic_id = $1 and env = $2 and source = @source and source_id = @source_id and origin = @origin;

-- name: ListInteractions :many
select * from clinic.interactions where clinic_id = @clinic_id and env = @env and patient_id = @patient_id
order by occurred_at desc, id desc limit @row_limit::int offset @row_offset::int;

-- name: CountInteractions :one
select count(*)::int from (select 1 from clinic.interactions where clinic_id = @clinic_id and env = @env and patient_id = @patient_id limit @most::int) n;
