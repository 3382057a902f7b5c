-- name: InsertClinic :exec
insert into clinic.clinics (id, name, created_at, updated_at) values ($1, $2, $3, $3);

-- name: Clinic :one
select * from clinic.clinics where id = $1;

-- name: LockClinic :one
select * from clinic.clinics where id = $1 for update;

-- name: UpdateClinicRow :one
update clinic.clinics set name = $2, timezone = $3, reveal_cpf = $4, locale = $5, updated_at = $6, default_area_code = $7 where id = $1 returning *;
