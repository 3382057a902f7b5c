-- name: InsertCompany :one
insert into messaging.companies (tenant_id, name, phone, email, created_at, updated_at) values ($1, $2, $3, $4, $5, $5) returning *;

-- name: Company :one
select * from messaging.companies where id = $1;

-- name: CompanyByTenant :one
select * from messaging.companies where tenant_id = $1;
