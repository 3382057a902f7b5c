-- name: ServiceOffers :many
select sqlc.embed(s), p.id as professional_id, p.name as professional_name, p.max_bookings_per_day, p.is_active as professional_active,
    p.accepts_online_booking, p.bio, p.avatar_url, p.avatar_key, p.specialty, ps.custom_duration_minutes, ps.custom_price_cents
from scheduling.professional_services ps
join scheduling.services s on s.org_id = ps.org_id and s.id = ps.service_id and s.deleted_at is null
join scheduling.professionals p on p.org_id = ps.org_id and p.id = ps.professional_id and p.deleted_at is null
where ps.org_id = @org_id and ps.service_id = @service_id
order by p.position, p.created_at, p.id;

-- name: MoveOffer :one
-- What an appointment needs to move: also a service that was deleted or that the professional
-- no longer offers.
select sqlc.embed(s), p.id as professional_id, p.name as professional_name, p.max_bookings_per_day, p.is_active as professional_active,
    p.accepts_online_booking, ps.custom_duration_minutes, ps.custom_price_cents,
    (ps.service_id is not null)::bool as is_offered, (p.deleted_at is not null)::bool as professional_removed
from scheduling.services s
join scheduling.professionals p on p.org_id = s.org_id and p.id = @professional_id
left join scheduling.professional_services ps on ps.org_id = s.org_id and ps.service_id = s.id and ps.professional_id = p.id
where s.org_id = @org_id and s.id = @service_id;

-- name: WorkingHours :many
select r.professional_id, 'rule'::text as kind, r.day_of_week::int as weekday, '0001-01-01'::date as date,
    r.start_minute::int as starts, r.end_minute::int as ends, coalesce(r.break_start_minute, -1)::int as break_starts, coalesce(r.break_end_minute, -1)::int as break_ends
from scheduling.schedule_rules r where r.org_id = @org_id and r.professional_id = any(@professional_ids::uuid[]) and r.is_active
union all
select e.professional_id, e.exception_type, 0, e.date, coalesce(e.start_minute, -1), coalesce(e.end_minute, -1), -1, -1
from scheduling.schedule_exceptions e
where e.org_id = @org_id and e.professional_id = any(@professional_ids::uuid[]) and e.date between @first and @last;

-- name: FreeSeat :one
select coalesce(min(n), 0)::int as seat from generate_series(1, @capacity::int) n
where not exists (select from scheduling.appointments a
    where a.professional_id = @professional_id and a.service_id = @service_id and a.start_at = @start_at and a.end_at = @end_at
      and a.status in ('scheduled', 'confirmed', 'completed') and not a.overbooked and a.seat = n and a.id <> @except_id);
