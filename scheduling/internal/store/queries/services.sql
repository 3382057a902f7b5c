-- name: ListServices :many
select * from scheduling.services where org_id = $1 and deleted_at is null order by position, created_at, id;

-- name: LockServices :many
-- Bookings may refer to what is locked like this: it keeps its id.
select * from scheduling.services where org_id = $1 and deleted_at is null order by position, created_at, id for no key update;

-- name: LockService :one
select * from scheduling.services where org_id = $1 and id = $2 and deleted_at is null for no key update;

-- name: ServiceByID :one
select * from scheduling.services where org_id = $1 and id = $2 and deleted_at is null;

-- name: CreateService :one
insert into scheduling.services (org_id, id, name, description, duration_minutes, price_cents, color, requires_deposit, deposit_cents,
    category, capacity, slot_interval_minutes, buffer_before_minutes, buffer_after_minutes, image_url, is_active, is_public, position)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
    (select coalesce(max(s.position) + 1, 0) from scheduling.services s where s.org_id = $1)) returning *;

-- name: UpdateService :one
update scheduling.services set name = $3, description = $4, duration_minutes = $5, price_cents = $6, color = $7, requires_deposit = $8,
    deposit_cents = $9, category = $10, capacity = $11, slot_interval_minutes = $12, buffer_before_minutes = $13,
    buffer_after_minutes = $14, image_url = $15, is_active = $16, is_public = $17, updated_at = $18, image_key = $19
where org_id = $1 and id = $2 returning *;

-- name: SetServicePositions :exec
update scheduling.services s set position = o.place - 1 from unnest(@ids::uuid[]) with ordinality o (id, place)
where s.org_id = @org_id and s.id = o.id and s.position <> o.place - 1;

-- name: DeleteService :exec
update scheduling.services set deleted_at = @now::timestamptz, is_active = false, image_key = null where org_id = @org_id and id = @id;

-- name: CountServices :one
select count(*)::int from scheduling.services where org_id = @org_id and id = any(@ids::uuid[]) and deleted_at is null;

-- name: HasFractionalAmounts :one
-- Whether what is offered, booked or to be paid has amounts that are not whole units.
select (exists (select from scheduling.services s where s.org_id = @org_id and s.deleted_at is null and (s.price_cents % 100 <> 0 or s.deposit_cents % 100 <> 0))
    or exists (select from scheduling.professional_services o join scheduling.services s on s.org_id = o.org_id and s.id = o.service_id
        join scheduling.professionals p on p.org_id = o.org_id and p.id = o.professional_id
        where o.org_id = @org_id and s.deleted_at is null and p.deleted_at is null and o.custom_price_cents % 100 <> 0)
    or exists (select from scheduling.appointments a where a.org_id = @org_id and a.status in ('scheduled', 'confirmed')
        and (a.price_cents % 100 <> 0 or a.deposit_cents % 100 <> 0 or a.paid_cents % 100 <> 0))
    or exists (select from scheduling.payments p where p.org_id = @org_id and p.status = 'pending' and p.amount_cents % 100 <> 0))::bool as found;
