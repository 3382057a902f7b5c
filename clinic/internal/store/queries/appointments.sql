-- name: InsertAppointment :one
insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, service, professional, status, reason, source, external_id, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12) returning *;

-- name: UpdateAppointmentRow :one
update clinic.appointments set patient_id = $4, starts_at = $5, service = $6, professional = $7, status = $8, reason = $9, reminded_at = $10, external_id = $11,
    details_at = $12, state_at = $13, updated_at = $14
where clinic_id = $1 and env = $2 and id = $3 returning *;

-- name: Appointment :one
select * from clinic.appointments where clinic_id = $1 and env = $2 and id = $3;

-- name: LockAppointment :one
select * from clinic.appointments where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: AppointmentByExternalID :one
select * from clinic.appointments where clinic_id = $1 and env = $2 and source = @source and external_id = @external_id;

-- name: LockAppointmentByExternalID :one
select * from clinic.appointments where clinic_id = $1 and env = $2 and source = @source and external_id = @external_id for update;

-- name: AppointmentsPage :many
select * from clinic.appointments where clinic_id = @clinic_id and env = @env and patient_id = @patient_id and (@status::text = '' or status = @status)
order by starts_at desc, id desc limit @row_limit::int offset @row_offset::int;

-- name: CountAppointments :one
select count(*)::int from (select 1 from clinic.appointments
    where clinic_id = @clinic_id and env = @env and patient_id = @patient_id and (@status::text = '' or status = @status) limit @max_count::int) n;

-- name: UpsertBooking :one
-- Saves an appointment as a connected product describes it; its status stays. No row: a newer description is
-- stored already, or the appointment belongs to an erased patient.
insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, service, professional, source, external_id, details_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
on conflict (clinic_id, env, source, external_id) do update
set patient_id = excluded.patient_id, starts_at = excluded.starts_at, service = excluded.service, professional = excluded.professional,
    details_at = excluded.details_at, updated_at = excluded.updated_at
where (appointments.details_at is null or appointments.details_at <= excluded.details_at)
and not exists (select from clinic.patients p where p.clinic_id = appointments.clinic_id and p.env = appointments.env and p.id = appointments.patient_id and p.status = 'anonymized')
returning *;

-- name: UpsertUnidentifiedBooking :one
-- The same for a booking without an external id. No row: a newer description is stored already.
insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, service, professional, source, details_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
on conflict (clinic_id, env, source, patient_id, starts_at) where source is not null and external_id is null do update
set service = excluded.service, professional = excluded.professional, details_at = excluded.details_at, updated_at = excluded.updated_at
where appointments.details_at is null or appointments.details_at <= excluded.details_at
returning *;

-- name: AppointmentsWithCPFIDs :many
-- Appointments of all clinics after a cursor whose ids at connected products may be CPFs, in clear. The pattern is that of the index.
select clinic_id, env, id, external_id::text from clinic.appointments where external_id ~ '[0-9]([^[:alnum:]]{0,3}[0-9]){10}'
and (clinic_id, env, id) > (@clinic_id::uuid, @env::text, @id::uuid) order by clinic_id, env, id limit @row_limit::int for update skip locked;

-- name: MaskAppointmentID :exec
-- Replaces the id at the connected product. An appointment that has the masked one keeps it.
update clinic.appointments a set external_id = case when exists (select from clinic.appointments b where b.clinic_id = a.clinic_id and b.env = a.env and b.source = a.source and b.external_id = @masked_id::text)
    then @masked_id || '-' || a.id else @masked_id end
where a.clinic_id = @clinic_id and a.env = @env and a.id = @id;

-- name: DeleteAppointment :exec
delete from clinic.appointments where clinic_id = $1 and env = $2 and id = $3;

-- name: ReleasePaymentsOfAppointment :exec
-- The payments stay at who made them.
update clinic.payments set appointment_id = null, updated_at = @updated_at where clinic_id = @clinic_id and env = @env and appointment_id = @appointment_id;

-- name: ReleasePaymentsOfFormerPatients :exec
-- The payments of an appointment that is another patient's now.
update clinic.payments set appointment_id = null, updated_at = @updated_at where clinic_id = @clinic_id and env = @env and appointment_id = @appointment_id and patient_id <> @patient_id;

-- name: LockUnidentifiedBookingAt :one
-- The booking without an external id at exactly the time that an event names.
select * from clinic.appointments where clinic_id = @clinic_id and env = @env and source = @source and patient_id = @patient_id and external_id is null
and starts_at = @starts_at for update;

-- name: LockUnidentifiedBookings :many
-- The bookings without an external id that an event without a time may be about. Two rows are enough: then it is ambiguous.
select * from clinic.appointments where clinic_id = @clinic_id and env = @env and source = @source and patient_id = @patient_id and external_id is null
and status in ('scheduled', 'confirmed') and starts_at > @after and starts_at <= @until order by id limit 2 for update;

-- name: BookingIDs :many
-- The ids that connected products have for a patient's newest appointments.
select external_id::text from clinic.appointments where clinic_id = @clinic_id and env = @env and patient_id = @patient_id and external_id is not null
order by starts_at desc, id desc limit 200;

-- name: AgendaPage :many
select sqlc.embed(a), p.name as patient_name from clinic.appointments a
join clinic.patients p on p.clinic_id = a.clinic_id and p.env = a.env and p.id = a.patient_id
where a.clinic_id = @clinic_id and a.env = @env and a.starts_at >= @starts_from::timestamptz and a.starts_at < @starts_before::timestamptz
and (@professional::text = '' or lower(a.professional) = lower(@professional)) and (@status::text = '' or a.status = @status)
order by a.starts_at, a.id limit @row_limit::int offset @row_offset::int;

-- name: CountAgenda :one
select count(*)::int from (select 1 from clinic.appointments a
    where a.clinic_id = @clinic_id and a.env = @env and a.starts_at >= @starts_from::timestamptz and a.starts_at < @starts_before::timestamptz
    and (@professional::text = '' or lower(a.professional) = lower(@professional)) and (@status::text = '' or a.status = @status) limit @max_count::int) n;
