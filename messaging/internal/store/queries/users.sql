-- name: InsertUser :one
insert into messaging.users (company_id, uid, name, email, password_hash, profile, all_tickets, is_active, connection_id, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) returning *;

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

-- name: ActiveUsersAmong :many
select id from messaging.users where company_id = $1 and id = any(sqlc.arg(ids)::bigint[]) and is_active;

-- name: ShareUser :one
-- Nobody else changes the user until the transaction ends.
select * from messaging.users where company_id = $1 and id = $2 for share;

-- name: RenewUserOnline :exec
update messaging.users set online_until = sqlc.arg(until)::timestamptz where uid = sqlc.arg(uid) and (online_until is null or online_until < sqlc.arg(until)::timestamptz);

-- name: EndUserOnline :exec
update messaging.users set online_until = null where uid = $1;

-- name: UserCount :one
select count(*) from messaging.users where company_id = sqlc.arg(company_id) and (name ilike sqlc.arg(pattern)::text or email ilike sqlc.arg(pattern)::text);

-- name: UsersPage :many
select * from messaging.users where company_id = sqlc.arg(company_id) and (name ilike sqlc.arg(pattern)::text or email ilike sqlc.arg(pattern)::text)
order by lower(name), id offset sqlc.arg(skip)::int limit sqlc.arg(max_rows)::int;

-- name: QueuesOfUsers :many
select uq.user_id, q.id, q.name, q.color from messaging.user_queues uq join messaging.queues q on q.company_id = uq.company_id and q.id = uq.queue_id
where uq.company_id = sqlc.arg(company_id) and uq.user_id = any(sqlc.arg(users)::bigint[]) order by q.id;

-- name: LockUsers :many
-- Of a whole company, so that two administrators cannot remove each other at once.
select * from messaging.users where company_id = $1 order by id for update;

-- name: UpdateUserRow :one
update messaging.users set name = $3, email = $4, password_hash = $5, profile = $6, all_tickets = $7, is_active = $8, connection_id = $9, updated_at = $10
where company_id = $1 and id = $2 returning *;

-- name: DeleteUser :exec
delete from messaging.users where company_id = $1 and id = $2;

-- name: DeleteUserQueues :exec
delete from messaging.user_queues where company_id = $1 and user_id = $2;

-- name: InsertUserQueues :execrows
-- Queues of other companies are left out: the caller compares the number.
insert into messaging.user_queues (company_id, user_id, queue_id)
select q.company_id, sqlc.arg(user_id), q.id from messaging.queues q where q.company_id = sqlc.arg(company_id) and q.id = any(sqlc.arg(queues)::bigint[]);

-- name: LiveTicketsOfUser :many
select * from messaging.tickets where company_id = sqlc.arg(company_id) and user_id = sqlc.arg(user_id)::bigint and status in ('open', 'pending') order by id for no key update;

-- name: StreamUser :one
-- An active user of an event stream with its queues, and whether a login of it was not revoked.
select sqlc.embed(u), c.tenant_id,
  array(select q.queue_id from messaging.user_queues q where q.company_id = u.company_id and q.user_id = u.id order by q.queue_id)::bigint[] as queues,
  exists (select from messaging.refresh_tokens r where r.user_id = u.uid and r.family_id = sqlc.arg(login) and r.revoked_at is null) as is_logged_in
from messaging.users u join messaging.companies c on c.id = u.company_id where u.uid = sqlc.arg(uid) and u.is_active;
