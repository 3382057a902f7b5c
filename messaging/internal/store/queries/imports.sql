-- name: InsertImport :one
insert into messaging.contact_imports (company_id, list_id, total, created_at, updated_at) values ($1, $2, $3, $4, $4) returning *;

-- name: InsertImportBatch :exec
insert into messaging.contact_import_batches (company_id, import_id, n, content) values ($1, $2, $3, $4);

-- name: ImportByID :one
select * from messaging.contact_imports where company_id = $1 and id = $2;

-- name: CountUnfinishedImports :one
select count(*)::int from messaging.contact_imports where company_id = $1 and finished_at is null;

-- name: LockImport :one
select * from messaging.contact_imports where company_id = $1 and id = $2 for no key update;

-- name: NextImportBatch :one
select * from messaging.contact_import_batches where company_id = $1 and import_id = $2 order by n limit 1;

-- name: DeleteImportBatch :exec
delete from messaging.contact_import_batches where company_id = $1 and import_id = $2 and n = $3;

-- name: DeleteImportBatches :exec
delete from messaging.contact_import_batches where company_id = $1 and import_id = $2;

-- name: UpdateImport :exec
update messaging.contact_imports set status = $3, created = $4, updated = $5, skipped = $6, failed = $7, errors = $8, warnings = $9, updated_at = $10, finished_at = $11
where company_id = $1 and id = $2;

-- name: ContactsByNumberKey :many
select * from messaging.contacts where company_id = sqlc.arg(company_id) and number_key = any(sqlc.arg(number_keys)::text[]);

-- name: LockContactsByNumberKey :many
select * from messaging.contacts where company_id = sqlc.arg(company_id) and number_key = any(sqlc.arg(number_keys)::text[]) order by id for no key update;

-- name: InsertContacts :many
-- A number that another transaction stores meanwhile is left out.
insert into messaging.contacts as c (company_id, name, number, number_key, email, created_at, updated_at)
select sqlc.arg(company_id), n.name, n.number, n.number_key, n.email, sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz
from (select unnest(sqlc.arg(names)::text[]) as name, unnest(sqlc.arg(numbers)::text[]) as number, unnest(sqlc.arg(number_keys)::text[]) as number_key, unnest(sqlc.arg(emails)::text[]) as email) n
order by n.number_key
on conflict (company_id, number_key) do nothing returning c.id;

-- name: UpdateContacts :exec
update messaging.contacts c set name = n.name, email = n.email, updated_at = sqlc.arg(at)::timestamptz
from (select unnest(sqlc.arg(contacts)::bigint[]) as id, unnest(sqlc.arg(names)::text[]) as name, unnest(sqlc.arg(emails)::text[]) as email) n
where c.company_id = sqlc.arg(company_id) and c.id = n.id;

-- name: DeleteFinishedImports :execrows
delete from messaging.contact_imports where finished_at < sqlc.arg(before)::timestamptz;

-- name: InsertImportErasure :exec
-- For every import in progress.
insert into messaging.contact_import_erasures (company_id, import_id, number_hash)
select i.company_id, i.id, sqlc.arg(number_hash)::bytea from messaging.contact_imports i where i.company_id = sqlc.arg(company_id) and i.finished_at is null
on conflict do nothing;

-- name: ImportErasures :many
select number_hash from messaging.contact_import_erasures where company_id = $1 and import_id = $2;

-- name: DeleteImportErasures :exec
delete from messaging.contact_import_erasures where company_id = $1 and import_id = $2;
