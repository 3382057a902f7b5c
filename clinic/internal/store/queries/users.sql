-- name: InsertUser :one
insert into clinic.users (clinic_id, id, name, email, password_hash, role, is_active, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $8) returning *;

-- name: UserByEmail :one
select * from clinic.users where lower(email) = lower(@email);

-- name: UserByID :one
select * from clinic.users where id = $1;

-- name: ActiveUserByLogin :one
select u.* from clinic.users u where u.id = @id and u.is_active
and exists (select from clinic.refresh_tokens t where t.family_id = @login and t.user_id = u.id and t.revoked_at is null);

-- name: UsersPage :many
select * from clinic.users where clinic_id = @clinic_id order by name, id limit @row_limit::int offset @row_offset::int;

-- name: LockUsers :many
select * from clinic.users where clinic_id = $1 order by id for update;

-- name: LockUser :one
select * from clinic.users where id = $1 for no key update;

-- name: UpdateUserRow :one
update clinic.users set name = $3, email = $4, role = $5, is_active = $6, updated_at = $7 where clinic_id = $1 and id = $2 returning *;

-- name: DeleteUser :exec
delete from clinic.users where clinic_id = $1 and id = $2;

-- name: SetPassword :exec
update clinic.users set password_hash = $2, updated_at = $3 where id = $1;
