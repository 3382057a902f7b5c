-- name: InsertUser :one
insert into messaging.users (company_id, uid, name, email, password_hash, profile, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $7) returning *;

-- name: UserByEmail :one
select * from messaging.users where lower(email) = lower($1);

-- name: UserByUID :one
select * from messaging.users where uid = $1;

-- name: LockUserByUID :one
select * from messaging.users where uid = $1 for no key update;

-- name: UpdateUserPassword :exec
update messaging.users set password_hash = $2, updated_at = $3 where uid = $1;

-- name: ActiveUserByLogin :one
-- The user of an access token, unless the login was revoked.
select sqlc.embed(u), c.tenant_id from messaging.users u
join messaging.companies c on c.id = u.company_id
where u.uid = $1 and u.is_active
  and exists (select from messaging.refresh_tokens r where r.user_id = u.uid and r.family_id = $2 and r.revoked_at is null);

-- name: QueueIDsOfUser :many
select queue_id from messaging.user_queues where company_id = $1 and user_id = $2 order by queue_id;

-- name: User :one
select * from messaging.users where company_id = $1 and id = $2;
