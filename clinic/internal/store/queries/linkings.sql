-- name: InsertLinking :exec
insert into clinic.linkings (clinic_id, env, id, patient_id, phone_key, source, external_id, settled_by, after_at, after_id, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: Linking :one
select * from clinic.linkings where clinic_id = $1 and env = $2 and id = $3;

-- name: LockLinking :one
select * from clinic.linkings where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: ListLinkings :many
-- Of all clinics, after a key.
select clinic_id, env, id from clinic.linkings where (clinic_id, env, id) > (@clinic_id::uuid, @env::text, @id::uuid)
order by clinic_id, env, id limit @row_limit::int;

-- name: FindLinking :one
-- The linking in progress for a phone key, or for a ticket or appointment.
select * from clinic.linkings where clinic_id = @clinic_id and env = @env
and (phone_key = sqlc.narg('phone_key')::text or source = @source::text and external_id = sqlc.narg('external_id')::text)
order by created_at, id limit 1;

-- name: FindLinkingShared :one
-- The same, locked so that it does not end before the transaction does.
select * from clinic.linkings where clinic_id = @clinic_id and env = @env
and (phone_key = sqlc.narg('phone_key')::text or source = @source::text and external_id = sqlc.narg('external_id')::text)
order by created_at, id limit 1 for share;

-- name: AdvanceLinking :exec
update clinic.linkings set after_at = $4, after_id = $5 where clinic_id = $1 and env = $2 and id = $3;

-- name: DeleteLinking :exec
delete from clinic.linkings where clinic_id = $1 and env = $2 and id = $3;

-- name: DeleteLinkingsOfPatient :many
delete from clinic.linkings where clinic_id = @clinic_id and env = @env and patient_id = @patient_id returning *;
