-- name: CreateUser :one
insert into scheduling.users (org_id, id, name, email, password_hash, role, phone, is_active)
values ($1, $2, $3, $4, $5, $6, $7, $8) returning *;

-- name: UserByEmail :one
select * from scheduling.users where lower(email) = lower(@email);

-- name: UserByID :one
select * from scheduling.users where id = $1;

-- name: UserByLogin :one
select u.* from scheduling.users u where u.id = @id and u.is_active
and exists (select from scheduling.refresh_tokens t where t.family_id = @login and t.user_id = u.id and t.revoked_at is null);

-- name: ListUsers :many
select * from scheduling.users where org_id = $1 order by name, id;

-- name: ManagerEmails :many
-- Where owners and admins are written to.
select email from scheduling.users where org_id = $1 and is_active and role in ('owner', 'admin') order by id;

-- name: LockUsers :many
select * from scheduling.users where org_id = $1 order by id for update;

-- name: LockUser :one
select * from scheduling.users where id = $1 for no key update;

-- name: UpdateUser :one
update scheduling.users set name = $3, email = $4, role = $5, phone = $6, is_active = $7, updated_at = $8
where org_id = $1 and id = $2 returning *;

-- name: DeleteUser :exec
delete from scheduling.users where org_id = $1 and id = $2;

-- name: SetPassword :exec
update scheduling.users set password_hash = $2, updated_at = $3 where id = $1;
