-- name: InsertIdempotencyKey :execrows
-- clear_key is the key as versions before stored it.
insert into scheduling.idempotency (org_id, operation, key, request_hash, created_at) select $1, $2, $3, $4, $5
where not exists (select from scheduling.idempotency c where c.org_id = $1 and c.operation = $2 and c.key = @clear_key::text and c.created_at >= @expired::timestamptz)
on conflict (org_id, operation, key) do update
set request_hash = excluded.request_hash, created_at = excluded.created_at, status = null, answer = null
where scheduling.idempotency.created_at < @expired::timestamptz;

-- name: IdempotentAnswer :one
select * from scheduling.idempotency where org_id = $1 and operation = $2 and key in ($3, @clear_key::text) order by created_at desc limit 1;

-- name: StoreIdempotentAnswer :exec
update scheduling.idempotency set status = $4, answer = $5 where org_id = $1 and operation = $2 and key = $3;

-- name: DeleteExpiredIdempotencyKeys :execrows
delete from scheduling.idempotency where created_at < @before::timestamptz;
