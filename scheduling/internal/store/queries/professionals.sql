-- name: ListProfessionals :many
select sqlc.embed(p), array(select ps.service_id from scheduling.professional_services ps
    join scheduling.services s on s.org_id = ps.org_id and s.id = ps.service_id and s.deleted_at is null
    where ps.org_id = p.org_id and ps.professional_id = p.id order by s.position, s.id)::uuid[] as service_ids
from scheduling.professionals p
where p.org_id = @org_id and p.deleted_at is null and (sqlc.narg('id')::uuid is null or p.id = sqlc.narg('id'))
order by p.position, p.created_at, p.id;

-- name: LockProfessional :one
select * from scheduling.professionals where org_id = $1 and id = $2 and deleted_at is null for no key update;

-- name: ProfessionalInAnyOrg :one
select * from scheduling.professionals where id = $1 and deleted_at is null;

-- name: CountProfessionals :one
select count(*)::int from scheduling.professionals where org_id = $1 and deleted_at is null;

-- name: CreateProfessional :exec
insert into scheduling.professionals (org_id, id, user_id, name, email, phone, bio, specialty, avatar_url, color, is_active,
    accepts_online_booking, max_bookings_per_day, position)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
    coalesce(sqlc.narg('position')::int, (select coalesce(max(p.position) + 1, 0) from scheduling.professionals p where p.org_id = $1)));

-- name: UpdateProfessional :exec
-- The calendar feed's address ends with the user who knew it.
update scheduling.professionals set user_id = $3, name = $4, email = $5, phone = $6, bio = $7, specialty = $8, avatar_url = $9, color = $10,
    is_active = $11, accepts_online_booking = $12, max_bookings_per_day = $13, position = $14, updated_at = $15,
    avatar_key = $16, feed_version = feed_version + case when user_id is not null and user_id is distinct from $3 then 1 else 0 end
where org_id = $1 and id = $2;

-- name: RotateFeed :execrows
update scheduling.professionals set feed_version = feed_version + 1 where org_id = $1 and id = $2 and deleted_at is null;

-- name: RotateFeedsOfUser :exec
update scheduling.professionals set feed_version = feed_version + 1 where org_id = @org_id and user_id = @user_id::uuid;

-- name: DeleteProfessional :exec
update scheduling.professionals set deleted_at = @now::timestamptz, is_active = false, avatar_key = null where org_id = @org_id and id = @id;

-- name: ListProfessionalServices :many
select sqlc.embed(s), ps.custom_duration_minutes, ps.custom_price_cents from scheduling.professional_services ps
join scheduling.services s on s.org_id = ps.org_id and s.id = ps.service_id and s.deleted_at is null
where ps.org_id = $1 and ps.professional_id = $2 order by s.position, s.id;

-- name: DeleteProfessionalServices :exec
delete from scheduling.professional_services where org_id = $1 and professional_id = $2;

-- name: AddProfessionalServices :exec
insert into scheduling.professional_services (org_id, professional_id, service_id, custom_duration_minutes, custom_price_cents)
select @org_id, @professional_id, o.service_id, nullif(o.duration, -1), nullif(o.price, -1)
from (select unnest(@service_ids::uuid[]) as service_id, unnest(@durations::int[]) as duration, unnest(@prices::bigint[]) as price) o;
