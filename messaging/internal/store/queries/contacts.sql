-- name: UpsertContact :one
-- The contact of a number; created says whether it is new. A contact without a name, whose
-- name is its number, takes the new one.
insert into messaging.contacts as c (company_id, name, number, number_key, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)
on conflict (company_id, number_key) do update set name = case when c.name = c.number then excluded.name else c.name end
returning sqlc.embed(c), (c.xmax = 0)::boolean as created;

-- name: Contact :one
select * from messaging.contacts where company_id = $1 and id = $2;

-- name: SetContactLastInbound :exec
update messaging.contacts set last_inbound_at = greatest(last_inbound_at, sqlc.arg(at)::timestamptz) where company_id = sqlc.arg(company_id) and id = sqlc.arg(id);

-- name: LockContact :one
select * from messaging.contacts where company_id = $1 and id = $2 for no key update;

-- name: ContactsByID :many
select * from messaging.contacts where company_id = $1 and id = any(sqlc.arg(ids)::bigint[]);
