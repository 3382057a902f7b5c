-- name: ClaimIdempotencyKey :execrows
-- Waits for a request that has just claimed the key. Nothing is changed where the key was
-- used since expired_at. clear_key is the key as versions before stored it.
insert into messaging.idempotency_keys as k (company_id, caller, key, body_hash, message_id, created_at)
select sqlc.arg(company_id), sqlc.arg(caller), sqlc.arg(key), sqlc.arg(body_hash), sqlc.arg(message_id), sqlc.arg(at)::timestamptz
where not exists (select from messaging.idempotency_keys c
    where c.company_id = sqlc.arg(company_id) and c.caller = sqlc.arg(caller) and c.key = sqlc.arg(clear_key)::text and c.created_at >= sqlc.arg(expired_at)::timestamptz)
on conflict (company_id, caller, key) do update set body_hash = excluded.body_hash, message_id = excluded.message_id, answer = null, created_at = excluded.created_at
where k.created_at < sqlc.arg(expired_at)::timestamptz;

-- name: IdempotencyKey :one
select * from messaging.idempotency_keys where company_id = sqlc.arg(company_id) and caller = sqlc.arg(caller) and key in (sqlc.arg(key), sqlc.arg(clear_key)::text) and created_at >= sqlc.arg(since)::timestamptz
order by created_at desc limit 1;

-- name: SetIdempotencyResponse :exec
update messaging.idempotency_keys set answer = sqlc.arg(response)::jsonb where company_id = sqlc.arg(company_id) and caller = sqlc.arg(caller) and key = sqlc.arg(key) and message_id = sqlc.arg(message_id);

-- name: DeleteOldIdempotencyKeys :exec
delete from messaging.idempotency_keys where created_at < $1;
