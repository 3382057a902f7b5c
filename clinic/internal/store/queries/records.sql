-- name: InsertRecord :one
insert into clinic.records (clinic_id, env, id, patient_id, date, type, professional, content_enc, external_summary, url, sensitivity, external_ref, created_by, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14) returning *;

-- name: Record :one
select * from clinic.records where clinic_id = $1 and env = $2 and id = $3;

-- name: RecordsPage :many
select * from clinic.records where clinic_id = @clinic_id and env = @env and patient_id = @patient_id
order by date desc, id desc limit @row_limit::int offset @row_offset::int;

-- name: CountRecords :one
-- Lists are counted in a query of their own, because a page beyond the last has no rows.
select count(*)::int from (select 1 from clinic.records where clinic_id = @clinic_id and env = @env and patient_id = @patient_id limit @max_count::int) n;

-- name: RecordsVisibleToPeers :many
-- The records that connected products may see: all but very restricted ones.
select * from clinic.records where clinic_id = @clinic_id and env = @env and patient_id = @patient_id and sensitivity <> 'V'
order by date desc, id desc limit @row_limit::int;
