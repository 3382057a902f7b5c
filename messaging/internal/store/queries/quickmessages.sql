-- name: InsertQuickMessage :one
insert into messaging.quick_messages (company_id, user_id, shortcode, message, shared, media_url, media_name, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $8) returning *;

-- name: QuickMessage :one
select * from messaging.quick_messages where company_id = $1 and id = $2;

-- name: LockQuickMessage :one
select * from messaging.quick_messages where company_id = $1 and id = $2 for no key update;

-- name: QuickMessageCount :one
-- Shared ones and those of a user; without a user, all.
select count(*) from messaging.quick_messages where company_id = sqlc.arg(company_id) and (sqlc.narg(user_id)::bigint is null or shared or user_id = sqlc.narg(user_id)::bigint)
  and strpos(messaging.search_form(shortcode || ' ' || message), messaging.search_form(sqlc.arg(search)::text)) > 0;

-- name: QuickMessagesPage :many
select * from messaging.quick_messages where company_id = sqlc.arg(company_id) and (sqlc.narg(user_id)::bigint is null or shared or user_id = sqlc.narg(user_id)::bigint)
  and strpos(messaging.search_form(shortcode || ' ' || message), messaging.search_form(sqlc.arg(search)::text)) > 0
order by lower(shortcode), id offset sqlc.arg(skip)::int limit sqlc.arg(max_rows)::int;

-- name: UpdateQuickMessage :one
update messaging.quick_messages set shortcode = $3, message = $4, shared = $5, media_url = $6, media_name = $7, updated_at = $8
where company_id = $1 and id = $2 returning *;

-- name: DeleteQuickMessage :exec
delete from messaging.quick_messages where company_id = $1 and id = $2;
