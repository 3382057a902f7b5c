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
    buffer_after_minutes = $14, image_url = $15, is_active = $16, is_public = $17, updated_at = $18
where org_id = $1 and id = $2 returning *;

-- name: PlaceServices :exec
update scheduling.services s set position = o.place - 1 from unnest(@ids::uuid[]) with ordinality o (id, place)
where s.org_id = @org_id and s.id = o.id and s.position <> o.place - 1;

-- name: DeleteService :execrows
update scheduling.services set deleted_at = @now::timestamptz, is_active = false where org_id = @org_id and id = @id and deleted_at is null;

-- name: ListProfessionals :many
select sqlc.embed(p), array(select ps.service_id from scheduling.professional_services ps
    join scheduling.services s on s.org_id = ps.org_id and s.id = ps.service_id and s.deleted_at is null
    where ps.org_id = p.org_id and ps.professional_id = p.id order by s.position, s.id)::uuid[] as service_ids
from scheduling.professionals p
where p.org_id = @org_id and p.deleted_at is null and (sqlc.narg('id')::uuid is null or p.id = sqlc.narg('id'))
order by p.position, p.created_at, p.id;

-- name: LockProfessional :one
select * from scheduling.professionals where org_id = $1 and id = $2 and deleted_at is null for no key update;

-- name: CreateProfessional :exec
insert into scheduling.professionals (org_id, id, user_id, name, email, phone, bio, specialty, avatar_url, color, is_active,
    accepts_online_booking, max_bookings_per_day, position)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
    coalesce(sqlc.narg('position')::int, (select coalesce(max(p.position) + 1, 0) from scheduling.professionals p where p.org_id = $1)));

-- name: UpdateProfessional :exec
update scheduling.professionals set user_id = $3, name = $4, email = $5, phone = $6, bio = $7, specialty = $8, avatar_url = $9, color = $10,
    is_active = $11, accepts_online_booking = $12, max_bookings_per_day = $13, position = $14, updated_at = $15
where org_id = $1 and id = $2;

-- name: RotateFeed :execrows
update scheduling.professionals set feed_version = feed_version + 1 where org_id = $1 and id = $2 and deleted_at is null;

-- name: DeleteProfessional :execrows
update scheduling.professionals set deleted_at = @now::timestamptz, is_active = false where org_id = @org_id and id = @id and deleted_at is null;

-- name: ProfessionalServices :many
select sqlc.embed(s), ps.custom_duration_minutes, ps.custom_price_cents from scheduling.professional_services ps
join scheduling.services s on s.org_id = ps.org_id and s.id = ps.service_id and s.deleted_at is null
where ps.org_id = $1 and ps.professional_id = $2 order by s.position, s.id;

-- name: ClearProfessionalServices :exec
delete from scheduling.professional_services where org_id = $1 and professional_id = $2;

-- name: AddProfessionalServices :exec
insert into scheduling.professional_services (org_id, professional_id, service_id, custom_duration_minutes, custom_price_cents)
select @org_id, @professional_id, o.service_id, nullif(o.duration, -1), nullif(o.price, -1)
from (select unnest(@service_ids::uuid[]) as service_id, unnest(@durations::int[]) as duration, unnest(@prices::bigint[]) as price) o;

-- name: CountServices :one
select count(*)::int from scheduling.services where org_id = @org_id and id = any(@ids::uuid[]) and deleted_at is null;

-- name: ListRules :many
select * from scheduling.schedule_rules where org_id = @org_id and (sqlc.narg('professional_id')::uuid is null or professional_id = sqlc.narg('professional_id'))
order by professional_id, day_of_week, start_minute, id;

-- name: LockRule :one
select * from scheduling.schedule_rules where org_id = $1 and id = $2 for update;

-- name: CreateRule :one
insert into scheduling.schedule_rules (org_id, id, professional_id, day_of_week, start_minute, end_minute, break_start_minute, break_end_minute, is_active)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning *;

-- name: CopyRules :execrows
insert into scheduling.schedule_rules (org_id, id, professional_id, day_of_week, start_minute, end_minute, break_start_minute, break_end_minute, is_active)
select r.org_id, gen_random_uuid(), @to_id, r.day_of_week, r.start_minute, r.end_minute, r.break_start_minute, r.break_end_minute, r.is_active
from scheduling.schedule_rules r where r.org_id = @org_id and r.professional_id = @from_id;

-- name: UpdateRule :one
update scheduling.schedule_rules set professional_id = $3, day_of_week = $4, start_minute = $5, end_minute = $6, break_start_minute = $7,
    break_end_minute = $8, is_active = $9, updated_at = $10 where org_id = $1 and id = $2 returning *;

-- name: DeleteRule :execrows
delete from scheduling.schedule_rules where org_id = $1 and id = $2;

-- name: ClearRules :execrows
delete from scheduling.schedule_rules where org_id = $1 and professional_id = $2;

-- name: ListExceptions :many
select * from scheduling.schedule_exceptions where org_id = @org_id and date between @first and @last
and (sqlc.narg('professional_id')::uuid is null or professional_id = sqlc.narg('professional_id'))
order by date, professional_id, start_minute nulls first, id;

-- name: LockException :one
select * from scheduling.schedule_exceptions where org_id = $1 and id = $2 for update;

-- name: CreateExceptions :exec
insert into scheduling.schedule_exceptions (org_id, id, professional_id, date, exception_type, start_minute, end_minute, reason)
select @org_id, o.id, @professional_id, o.day, @exception_type, sqlc.narg('start_minute'), sqlc.narg('end_minute'), @reason
from (select unnest(@ids::uuid[]) as id, unnest(@dates::date[]) as day) o;

-- name: UpdateException :one
update scheduling.schedule_exceptions set professional_id = $3, date = $4, exception_type = $5, start_minute = $6, end_minute = $7,
    reason = $8, updated_at = $9 where org_id = $1 and id = $2 returning *;

-- name: DeleteException :execrows
delete from scheduling.schedule_exceptions where org_id = $1 and id = $2;

-- name: HasFractions :one
-- Whether what is offered, booked or to be paid has amounts that are not whole units.
select (exists (select from scheduling.services s where s.org_id = @org_id and s.deleted_at is null and (s.price_cents % 100 <> 0 or s.deposit_cents % 100 <> 0))
    or exists (select from scheduling.professional_services o join scheduling.services s on s.org_id = o.org_id and s.id = o.service_id
        join scheduling.professionals p on p.org_id = o.org_id and p.id = o.professional_id
        where o.org_id = @org_id and s.deleted_at is null and p.deleted_at is null and o.custom_price_cents % 100 <> 0)
    or exists (select from scheduling.appointments a where a.org_id = @org_id and a.status in ('scheduled', 'confirmed')
        and (a.price_cents % 100 <> 0 or a.deposit_cents % 100 <> 0 or a.paid_cents % 100 <> 0))
    or exists (select from scheduling.payments p where p.org_id = @org_id and p.status = 'pending' and p.amount_cents % 100 <> 0))::bool as found;
