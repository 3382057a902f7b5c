-- name: InsertInteraction :one
-- No row: it is in the history already.
insert into clinic.interactions (clinic_id, env, id, patient_id, type, summary, source, source_id, occurred_at, origin, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict (clinic_id, env, source, source_id, origin) do nothing returning *;

-- name: InteractionBySource :one
select * from clinic.interactions where clinic_id = $1 and env = $2 and source = @source and source_id = @source_id and origin = @origin;

-- name: InteractionsPage :many
select * from clinic.interactions where clinic_id = @clinic_id and env = @env and patient_id = @patient_id
order by occurred_at desc, id desc limit @row_limit::int offset @row_offset::int;

-- name: CountInteractions :one
select count(*)::int from (select 1 from clinic.interactions where clinic_id = @clinic_id and env = @env and patient_id = @patient_id limit @max_count::int) n;

-- name: ErasedSourceExists :one
select exists (select from clinic.interactions where clinic_id = @clinic_id and env = @env and source = any(@sources::text[]) and source_id = @source_id and origin = @origin);

-- name: PatientEventIDs :many
-- The ids of peers' events in a patient's history, and of those that are being linked to the patient.
select h.source_id from clinic.interactions h where h.clinic_id = @clinic_id and h.env = @env and h.patient_id = @patient_id and h.origin = 'event' and h.source_id like 'evt\_%'
union
select i.event_id from clinic.linkings l join clinic.inbox i on i.clinic_id = l.clinic_id and i.env = l.env and i.status = 'open' and i.meant_for is null
    and (i.phone_key = l.phone_key or i.source = l.source and i.external_id = l.external_id) and (i.occurred_at, i.id) > (l.after_at, l.after_id)
where l.clinic_id = @clinic_id and l.env = @env and l.patient_id = @patient_id and i.event_id like 'evt\_%'
union
select i.event_id from clinic.inbox i where i.clinic_id = @clinic_id and i.env = @env and i.meant_for = @patient_id and i.event_id like 'evt\_%';
