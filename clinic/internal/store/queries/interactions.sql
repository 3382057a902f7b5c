-- name: InsertInteraction :one
-- No row: it is in the history already.
insert into clinic.interactions (clinic_id, env, id, patient_id, type, summary, source, source_id, occurred_at, origin, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict (clinic_id, env, source, source_id, origin) do nothing returning *;

-- name: InteractionOfSource :one
select * from clinic.interactions where clinic_id = $1 and env = $2 and source = @source and source_id = @source_id and origin = @origin;

-- name: ListInteractions :many
select * from clinic.interactions where clinic_id = @clinic_id and env = @env and patient_id = @patient_id
order by occurred_at desc, id desc limit @row_limit::int offset @row_offset::int;

-- name: CountInteractions :one
select count(*)::int from (select 1 from clinic.interactions where clinic_id = @clinic_id and env = @env and patient_id = @patient_id limit @max_count::int) n;

-- name: SaveTicket :exec
insert into clinic.tickets (clinic_id, env, source, ticket_id, patient_id) values ($1, $2, $3, $4, $5)
on conflict (clinic_id, env, source, ticket_id) do update set patient_id = excluded.patient_id;

-- name: PatientByTicket :one
select p.* from clinic.tickets t join clinic.patients p on p.clinic_id = t.clinic_id and p.env = t.env and p.id = t.patient_id
where t.clinic_id = @clinic_id and t.env = @env and t.source = @source and t.ticket_id = @ticket_id;

-- name: PatientByAppointment :one
select p.* from clinic.appointments a join clinic.patients p on p.clinic_id = a.clinic_id and p.env = a.env and p.id = a.patient_id
where a.clinic_id = @clinic_id and a.env = @env and a.source = @source and a.external_id = @external_id;
