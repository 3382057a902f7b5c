-- name: LockHold :one
select * from scheduling.holds where org_id = @org_id and id = @id and expires_at > @now::timestamptz for update;

-- name: IsHoldActive :one
select exists (select from scheduling.holds where org_id = @org_id and id = @id and expires_at > @now::timestamptz);

-- name: CreateHold :exec
insert into scheduling.holds (org_id, id, professional_id, service_id, start_at, end_at, created_at, expires_at, address_hash)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: CountHoldsOfAddress :one
select count(*)::int from scheduling.holds where org_id = @org_id and address_hash = @address_hash::bytea and expires_at > @now::timestamptz and id <> @except_id;

-- name: DeleteHold :exec
delete from scheduling.holds where org_id = $1 and id = $2;

-- name: DeleteExpiredHolds :execrows
delete from scheduling.holds where expires_at < @before::timestamptz;
