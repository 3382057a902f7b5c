-- name: OperatorByEmail :one
select * from hub.operators where lower(email) = lower($1);

-- name: OperatorByID :one
select * from hub.operators where id = $1;

-- name: LockOperator :one
-- Who gives or ends logins of an operator takes this first: else one that is just being
-- given would outlive the end of all.
select * from hub.operators where id = $1 for no key update;

-- name: OperatorByRefreshToken :one
-- The operator behind an access token, as long as its login has not been ended.
select o.* from hub.operators o
where o.id = sqlc.arg(operator_id) and not o.disabled
  and exists (select from hub.refresh_tokens t
              where t.family_id = sqlc.arg(family_id) and t.operator_id = o.id and t.revoked_at is null);

-- name: ListOperators :many
select * from hub.operators
where (sqlc.narg(before)::uuid is null or id < sqlc.narg(before)::uuid)
order by id desc limit sqlc.arg(row_limit);

-- name: CountOperators :one
select count(*) from hub.operators;

-- name: LockOperators :exec
-- Changes of operators happen one at a time, so that two admins cannot demote each
-- other at once and leave none.
select pg_advisory_xact_lock(7240912);

-- name: CountOtherAdmins :one
select count(*) from hub.operators where role = 'admin' and not disabled and id <> $1;

-- name: CreateOperator :one
insert into hub.operators (id, email, name, role, password_hash)
values ($1, $2, $3, $4, $5) returning *;

-- name: UpdateOperator :one
update hub.operators
set email = sqlc.arg(email), name = sqlc.arg(name), role = sqlc.arg(role), disabled = sqlc.arg(disabled),
    password_hash = coalesce(sqlc.narg(password_hash), password_hash), updated_at = now()
where id = sqlc.arg(id) returning *;

-- name: DeleteOperator :execrows
delete from hub.operators where id = $1;
