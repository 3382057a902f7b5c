-- name: InsertRecordAccess :exec
insert into clinic.record_accesses (clinic_id, env, id, patient_id, user_id, user_name, reason, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: RecordAccessesPage :many
select * from clinic.record_accesses where clinic_id = @clinic_id and env = @env and patient_id = @patient_id
order by id desc limit @row_limit::int offset @row_offset::int;

-- name: CountRecordAccesses :one
select count(*)::int from (select 1 from clinic.record_accesses where clinic_id = @clinic_id and env = @env and patient_id = @patient_id limit @max_count::int) n;
