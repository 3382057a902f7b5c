-- name: InsertProfessional :one
insert into clinic.professionals (clinic_id, env, id, name, specialty, register, is_active, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $8) returning *;

-- name: LockProfessional :one
select * from clinic.professionals where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: ProfessionalsPage :many
select * from clinic.professionals where clinic_id = @clinic_id and env = @env order by name, id limit @row_limit::int offset @row_offset::int;

-- name: UpdateProfessionalRow :one
update clinic.professionals set name = $4, specialty = $5, register = $6, is_active = $7, updated_at = $8
where clinic_id = $1 and env = $2 and id = $3 returning *;

-- name: DeleteProfessional :execrows
delete from clinic.professionals where clinic_id = $1 and env = $2 and id = $3;
