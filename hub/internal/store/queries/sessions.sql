-- name: CreateRefreshToken :exec
insert into hub.refresh_tokens (hash, family_id, operator_id, created_at, expires_at)
values ($1, $2, $3, $4, $5);

-- name: RefreshToken :one
select * from hub.refresh_tokens where hash = $1;

-- name: BrowserSession :one
-- The operator behind a browser's session, as long as it lasts.
select sqlc.embed(o), t.expires_at from hub.refresh_tokens t join hub.operators o on o.id = t.operator_id
where t.hash = sqlc.arg(hash) and t.revoked_at is null and t.used_at is null and t.expires_at > sqlc.arg(now)::timestamptz and not o.disabled;

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

-- name: LoginLimits :one
-- Whether an account has logged in from an address, and the time of the failure that reaches a
-- limit: of the account at the address, and of the address. 1970 = the limit is not reached.
select exists (select from hub.known_logins k where k.account_hash = @account_hash and k.ip = @ip) as known,
    coalesce((select f.at from hub.login_failures f where f.account_hash = @account_hash and f.ip = @ip and f.at > @since
        order by f.at desc offset sqlc.arg(account_limit)::int - 1 limit 1), to_timestamp(0))::timestamptz as account_reached,
    coalesce((select f.at from hub.login_failures f where f.ip = @ip and f.at > @since
        order by f.at desc offset sqlc.arg(address_limit)::int - 1 limit 1), to_timestamp(0))::timestamptz as address_reached;

-- name: IsKnownLogin :one
select exists (select from hub.known_logins where account_hash = $1 and ip = $2);

-- name: SaveKnownLogin :exec
insert into hub.known_logins as k (account_hash, ip, at) values ($1, $2, $3)
on conflict (account_hash, ip) do update set at = excluded.at where k.at < excluded.at - interval '1 day';

-- name: DeleteLoginFailures :exec
delete from hub.login_failures where account_hash = $1 and ip = $2;
