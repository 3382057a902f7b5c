-- name: CreateToken :one
insert into hub.tokens (id, name, role, hash, last4, created_by, created_at, expires_at)
values (@id, @name, @role, @hash, @last4, @created_by, @created_at, sqlc.narg(expires_at)) returning *;

-- name: ListTokens :many
select * from hub.tokens
where (sqlc.narg(before)::uuid is null or id < sqlc.narg(before)::uuid)
order by id desc limit sqlc.arg(row_limit);

-- name: TokenByHash :one
select * from hub.tokens where hash = @hash and (expires_at is null or expires_at > sqlc.arg(at)::timestamptz);

-- name: SetTokenUsed :exec
-- At most one write in a minute for each token.
update hub.tokens set last_used_at = sqlc.arg(at)::timestamptz
where id = @id and (last_used_at is null or last_used_at <= sqlc.arg(at)::timestamptz - interval '1 minute');

-- name: DeleteToken :execrows
delete from hub.tokens where id = @id;
