-- name: DashboardCounts :one
select
    count(*) filter (where a.start_at >= @today::timestamptz and a.start_at < @tomorrow::timestamptz and a.status <> 'cancelled')::int as today,
    count(*) filter (where a.start_at >= @since::timestamptz and a.start_at < @until::timestamptz and a.status <> 'cancelled')::int as month,
    count(*) filter (where a.start_at >= @since::timestamptz and a.start_at < @until::timestamptz and a.status = 'completed')::int as completed,
    count(*) filter (where a.start_at >= @since::timestamptz and a.start_at < @until::timestamptz and a.status = 'no_show')::int as no_shows
from scheduling.appointments a where a.org_id = @org_id
and a.start_at >= least(@since::timestamptz, @today::timestamptz) and a.start_at < greatest(@until::timestamptz, @tomorrow::timestamptz)
and (sqlc.narg('professional_id')::uuid is null or a.professional_id = sqlc.narg('professional_id'));

-- name: CountNewClients :one
select count(*)::int from scheduling.clients where org_id = @org_id and created_at >= @since::timestamptz and created_at < @until::timestamptz and anonymized_at is null;

-- name: SumRevenue :one
select coalesce(sum(p.amount_cents - p.refunded_cents), 0)::bigint from scheduling.payments p
where p.org_id = @org_id and p.paid_at >= @since::timestamptz and p.paid_at < @until::timestamptz and p.status in ('paid', 'refunded');

-- name: RevenueByDay :many
select (p.paid_at at time zone @zone::text)::date as day, p.method, a.professional_id, a.service_id,
    coalesce(w.name, '')::text as professional_name, coalesce(s.name, '')::text as service_name,
    sum(p.amount_cents - p.refunded_cents)::bigint as amount, count(*)::int as payments
from scheduling.payments p left join scheduling.appointments a on a.org_id = p.org_id and a.id = p.appointment_id
left join scheduling.professionals w on w.org_id = a.org_id and w.id = a.professional_id
left join scheduling.services s on s.org_id = a.org_id and s.id = a.service_id
where p.org_id = @org_id and p.paid_at >= @since::timestamptz and p.paid_at < @until::timestamptz and p.status in ('paid', 'refunded')
and (sqlc.narg('professional_id')::uuid is null or a.professional_id = sqlc.narg('professional_id'))
group by 1, 2, 3, 4, 5, 6 order by 1;

-- name: AttendanceByWeekday :many
select a.professional_id, p.name, (extract(isodow from a.start_at at time zone @zone::text)::int - 1)::int as weekday,
    count(*) filter (where a.status in ('completed', 'no_show'))::int as total, count(*) filter (where a.status = 'no_show')::int as no_shows,
    coalesce(sum(a.price_cents) filter (where a.status = 'no_show'), 0)::bigint as lost
from scheduling.appointments a join scheduling.professionals p on p.org_id = a.org_id and p.id = a.professional_id
where a.org_id = @org_id and a.start_at >= @since::timestamptz and a.start_at < @until::timestamptz and a.status in ('completed', 'no_show')
and (sqlc.narg('professional_id')::uuid is null or a.professional_id = sqlc.narg('professional_id'))
group by 1, 2, 3 order by 2, 1, 3;

-- name: ReportProfessionals :many
-- Whoever was there at some time since then.
select id, name, deleted_at from scheduling.professionals
where org_id = @org_id and (deleted_at is null or deleted_at > @since::timestamptz) and (sqlc.narg('id')::uuid is null or id = sqlc.narg('id'))
order by position, created_at, id;

-- name: ProfessionalEverExisted :one
select exists(select from scheduling.professionals where org_id = $1 and id = $2) as found;

-- name: PopularServices :many
-- The revenue has money of kind 'other' in it, which paid_cents has not.
select a.service_id, s.name, count(*)::int as appointments, coalesce(sum(m.received), 0)::bigint as revenue, (sum(count(*)) over ())::bigint as total
from scheduling.appointments a join scheduling.services s on s.org_id = a.org_id and s.id = a.service_id
cross join lateral (select sum(p.amount_cents - p.refunded_cents) as received from scheduling.payments p
    where p.org_id = a.org_id and p.appointment_id = a.id and p.status in ('paid', 'refunded')) m
where a.org_id = @org_id and a.start_at >= @since::timestamptz and a.start_at < @until::timestamptz and a.status <> 'cancelled'
and (sqlc.narg('professional_id')::uuid is null or a.professional_id = sqlc.narg('professional_id'))
group by 1, 2 order by 3 desc, 2, 1 limit @row_limit::int;

-- name: InactiveClients :many
select c.id, c.name, c.phone, c.email, c.total_appointments, c.total_spent_cents, c.created_at, coalesce(v.last_at, '0001-01-01 00:00:00Z')::timestamptz as last_at, v.upcoming,
    coalesce((select s.name from scheduling.appointments f join scheduling.services s on s.org_id = f.org_id and s.id = f.service_id
        where f.org_id = c.org_id and f.client_id = c.id and f.status = 'completed' group by s.id, s.name order by count(*) desc, s.name limit 1), '')::text as favorite,
    count(*) over () as total
from scheduling.clients c
cross join lateral (select max(a.start_at) filter (where a.status = 'completed') as last_at,
        count(*) filter (where a.status in ('scheduled', 'confirmed') and a.start_at > @now::timestamptz)::int as upcoming
    from scheduling.appointments a where a.org_id = c.org_id and a.client_id = c.id) v
where c.org_id = @org_id and c.anonymized_at is null and coalesce(v.last_at, c.created_at) < @before::timestamptz and v.upcoming = 0
and (not @consented::bool or c.marketing_consent_at is not null)
order by coalesce(v.last_at, c.created_at), c.id limit @row_limit::int offset @row_offset::int;

-- name: CountInactiveClients :one
select count(*)::int from scheduling.clients c
cross join lateral (select max(a.start_at) filter (where a.status = 'completed') as last_at,
        count(*) filter (where a.status in ('scheduled', 'confirmed') and a.start_at > @now::timestamptz)::int as upcoming
    from scheduling.appointments a where a.org_id = c.org_id and a.client_id = c.id) v
where c.org_id = @org_id and c.anonymized_at is null and coalesce(v.last_at, c.created_at) < @before::timestamptz and v.upcoming = 0
and (not @consented::bool or c.marketing_consent_at is not null);
