-- name: InsertCompany :one
insert into messaging.companies (tenant_id, name, phone, email, created_at, updated_at) values ($1, $2, $3, $4, $5, $5) returning *;

-- name: Company :one
select * from messaging.companies where id = $1;

-- name: CompanyByTenant :one
select * from messaging.companies where tenant_id = $1;

-- name: CompaniesOfTenants :many
select id from messaging.companies where tenant_id = any(sqlc.arg(tenants)::uuid[]);

-- name: LockCompany :one
select * from messaging.companies where id = $1 for no key update;

-- name: UpdateCompany :one
update messaging.companies set name = $2, phone = $3, email = $4, timezone = $5, schedules = $6, reopen_minutes = $7, opt_out_words = $8, retention_days = $9, updated_at = $10
where id = $1 returning *;
