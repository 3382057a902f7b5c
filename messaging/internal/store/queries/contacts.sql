-- name: UpsertContact :one
-- The contact of a number; created says whether it is new. A contact without a name, whose
-- name is its number, takes the new one.
insert into messaging.contacts as c (company_id, name, number, number_key, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)
on conflict (company_id, number_key) do update set name = case when c.name = c.number then excluded.name else c.name end
returning sqlc.embed(c), (c.xmax = 0)::boolean as created;

-- name: LockContactByNumber :one
select * from messaging.contacts where company_id = sqlc.arg(company_id) and number_key = sqlc.arg(number_key)::text for no key update;

-- name: Contact :one
select * from messaging.contacts where company_id = $1 and id = $2;

-- name: SetContactLastInbound :exec
update messaging.contacts set last_inbound_at = greatest(last_inbound_at, sqlc.arg(at)::timestamptz) where company_id = sqlc.arg(company_id) and id = sqlc.arg(id);

-- name: LockContact :one
select * from messaging.contacts where company_id = $1 and id = $2 for no key update;

-- name: InsertContact :one
insert into messaging.contacts (company_id, name, number, number_key, email, picture_url, disable_bot, extra_info, consent, consent_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11) returning *;

-- name: UpdateContact :one
update messaging.contacts set name = $3, number = $4, number_key = $5, network_number = case when number_key = $5 then network_number end, email = $6, picture_url = $7, disable_bot = $8, extra_info = $9,
  consent = $10, consent_at = $11, updated_at = $12
where company_id = $1 and id = $2 returning *;

-- name: DeleteContact :execrows
delete from messaging.contacts where company_id = $1 and id = $2;

-- name: ContactsByID :many
select * from messaging.contacts where company_id = $1 and id = any(sqlc.arg(ids)::bigint[]);

-- name: ClearContactLID :exec
-- Numbers change hands.
update messaging.contacts set lid = null where company_id = $1 and lid = $3 and id <> $2;

-- name: SetContactLID :exec
update messaging.contacts set lid = $3 where company_id = $1 and id = $2;

-- name: ContactsOfAllCompanies :many
-- For the console's lookup.
select sqlc.embed(c), o.tenant_id from messaging.contacts c join messaging.companies o on o.id = c.company_id
where c.number_key = $1 order by c.id limit 100;

-- name: ContactsOfAllCompaniesByEmail :many
-- For the console's lookup.
select sqlc.embed(c), o.tenant_id from messaging.contacts c join messaging.companies o on o.id = c.company_id
where lower(c.email) = @email::text and c.anonymized_at is null order by c.id limit 100;
