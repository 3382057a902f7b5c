-- name: CreateRefreshToken :exec
insert into hub.refresh_tokens (hash, family_id, operator_id, created_at, expires_at)
values ($1, $2, $3, $4, $5);

-- name: RefreshToken :one
select * from hub.refresh_tokens where hash = $1;

-- name: LockRefreshToken :one
select * from hub.refresh_tokens where hash = $1 for update;

-- name: MarkRefreshTokenUsed :exec
update hub.refresh_tokens set used_at = $2 where hash = $1;

-- name: RevokeTokenFamily :exec
update hub.refresh_tokens set revoked_at = $2 where family_id = $1 and revoked_at is null;

-- name: RevokeOperatorSessions :exec
update hub.refresh_tokens set revoked_at = $2 where operator_id = $1 and revoked_at is null;

-- name: RecordLoginFailure :exec
insert into hub.login_failures (account_hash, ip, at) values ($1, $2, $3);

-- name: RecentLoginFailures :many
select at from hub.login_failures
where account_hash = $1 and ip = $2 and at > sqlc.arg(since) order by at desc limit sqlc.arg(row_limit);

-- name: DeleteLoginFailures :exec
delete from hub.login_failures where account_hash = $1 and ip = $2;
