-- name: TicketReport :one
-- Averages are in minutes.
select
  (select count(*) from messaging.tickets t where t.company_id = sqlc.arg(company_id) and t.created_at >= sqlc.arg(begins)::timestamptz and t.created_at < sqlc.arg(ends)::timestamptz
    and (sqlc.narg(queue_id)::bigint is null or t.queue_id = sqlc.narg(queue_id)::bigint) and (sqlc.narg(user_id)::bigint is null or t.user_id = sqlc.narg(user_id)::bigint)) as total,
  (select count(*) from messaging.tickets t where t.company_id = sqlc.arg(company_id) and t.status = 'open'
    and (sqlc.narg(queue_id)::bigint is null or t.queue_id = sqlc.narg(queue_id)::bigint) and (sqlc.narg(user_id)::bigint is null or t.user_id = sqlc.narg(user_id)::bigint)) as open,
  (select count(*) from messaging.tickets t where t.company_id = sqlc.arg(company_id) and t.status = 'pending'
    and (sqlc.narg(queue_id)::bigint is null or t.queue_id = sqlc.narg(queue_id)::bigint) and (sqlc.narg(user_id)::bigint is null or t.user_id = sqlc.narg(user_id)::bigint)) as pending,
  (select count(*) from messaging.contacts c where c.company_id = sqlc.arg(company_id) and c.created_at >= sqlc.arg(begins)::timestamptz and c.created_at < sqlc.arg(ends)::timestamptz) as leads,
  (select coalesce(avg(extract(epoch from t.started_at - t.queued_at)) / 60, 0)::float8 from messaging.tickets t where t.company_id = sqlc.arg(company_id)
    and t.started_at >= sqlc.arg(begins)::timestamptz and t.started_at < sqlc.arg(ends)::timestamptz and t.queued_at <= t.started_at
    and (sqlc.narg(queue_id)::bigint is null or t.queue_id = sqlc.narg(queue_id)::bigint) and (sqlc.narg(user_id)::bigint is null or t.user_id = sqlc.narg(user_id)::bigint)) as wait_minutes,
  c.closed, c.support_minutes
from (select count(*) as closed, coalesce(avg(extract(epoch from t.closed_at - t.started_at)) filter (where t.started_at <= t.closed_at) / 60, 0)::float8 as support_minutes
  from messaging.tickets t where t.company_id = sqlc.arg(company_id) and t.status = 'closed' and t.closed_at >= sqlc.arg(begins)::timestamptz and t.closed_at < sqlc.arg(ends)::timestamptz
    and (sqlc.narg(queue_id)::bigint is null or t.queue_id = sqlc.narg(queue_id)::bigint) and (sqlc.narg(user_id)::bigint is null or t.user_id = sqlc.narg(user_id)::bigint)) c;

-- name: TicketSeries :many
-- Days of the company's zone on which tickets were opened or closed.
select to_char(day, 'YYYY-MM-DD') as day, sum(opened)::bigint as opened, sum(closed)::bigint as closed from (
  select (t.created_at at time zone sqlc.arg(zone)::text)::date as day, 1 as opened, 0 as closed from messaging.tickets t
  where t.company_id = sqlc.arg(company_id) and t.created_at >= sqlc.arg(begins)::timestamptz and t.created_at < sqlc.arg(ends)::timestamptz
    and (sqlc.narg(queue_id)::bigint is null or t.queue_id = sqlc.narg(queue_id)::bigint) and (sqlc.narg(user_id)::bigint is null or t.user_id = sqlc.narg(user_id)::bigint)
  union all
  select (t.closed_at at time zone sqlc.arg(zone)::text)::date, 0, 1 from messaging.tickets t
  where t.company_id = sqlc.arg(company_id) and t.status = 'closed' and t.closed_at >= sqlc.arg(begins)::timestamptz and t.closed_at < sqlc.arg(ends)::timestamptz
    and (sqlc.narg(queue_id)::bigint is null or t.queue_id = sqlc.narg(queue_id)::bigint) and (sqlc.narg(user_id)::bigint is null or t.user_id = sqlc.narg(user_id)::bigint)) d
group by day order by day;

-- name: UserReport :many
-- tickets are those that the user accepted in the range.
with accepted as (
  select t.user_id, count(*) as tickets,
    avg(extract(epoch from t.first_response_at - t.started_at)) filter (where t.first_response_at >= t.started_at) / 60 as response_minutes
  from messaging.tickets t where t.company_id = sqlc.arg(company_id) and t.started_at >= sqlc.arg(begins)::timestamptz and t.started_at < sqlc.arg(ends)::timestamptz
    and t.user_id is not null and (sqlc.narg(queue_id)::bigint is null or t.queue_id = sqlc.narg(queue_id)::bigint) group by t.user_id),
ended as (
  select t.user_id, count(*) as closed, avg(t.rating) as rating,
    avg(extract(epoch from t.closed_at - t.started_at)) filter (where t.started_at <= t.closed_at) / 60 as support_minutes
  from messaging.tickets t where t.company_id = sqlc.arg(company_id) and t.status = 'closed' and t.closed_at >= sqlc.arg(begins)::timestamptz and t.closed_at < sqlc.arg(ends)::timestamptz
    and t.user_id is not null and (sqlc.narg(queue_id)::bigint is null or t.queue_id = sqlc.narg(queue_id)::bigint) group by t.user_id)
select u.id, u.name, (u.is_active and coalesce(u.online_until > sqlc.arg(at)::timestamptz, false))::boolean as online,
  coalesce(a.tickets, 0)::bigint as tickets, coalesce(a.response_minutes, 0)::float8 as response_minutes,
  coalesce(e.closed, 0)::bigint as closed, coalesce(e.support_minutes, 0)::float8 as support_minutes, coalesce(e.rating, 0)::float8 as rating
from messaging.users u left join accepted a on a.user_id = u.id left join ended e on e.user_id = u.id
where u.company_id = sqlc.arg(company_id) and (sqlc.narg(user_id)::bigint is null or u.id = sqlc.narg(user_id)::bigint)
order by lower(u.name), u.id limit 1000;

-- name: QueueReport :many
with live as (
  select t.queue_id, count(*) filter (where t.status = 'open') as open, count(*) filter (where t.status = 'pending') as pending from messaging.tickets t
  where t.company_id = sqlc.arg(company_id) and t.status in ('open', 'pending') and (sqlc.narg(user_id)::bigint is null or t.user_id = sqlc.narg(user_id)::bigint) group by t.queue_id),
started as (
  select t.queue_id, avg(extract(epoch from t.started_at - t.queued_at)) filter (where t.queued_at <= t.started_at) / 60 as wait_minutes from messaging.tickets t
  where t.company_id = sqlc.arg(company_id) and t.started_at >= sqlc.arg(begins)::timestamptz and t.started_at < sqlc.arg(ends)::timestamptz
    and (sqlc.narg(user_id)::bigint is null or t.user_id = sqlc.narg(user_id)::bigint) group by t.queue_id),
ended as (
  select t.queue_id, count(*) as closed, avg(extract(epoch from t.closed_at - t.started_at)) filter (where t.started_at <= t.closed_at) / 60 as support_minutes from messaging.tickets t
  where t.company_id = sqlc.arg(company_id) and t.status = 'closed' and t.closed_at >= sqlc.arg(begins)::timestamptz and t.closed_at < sqlc.arg(ends)::timestamptz
    and (sqlc.narg(user_id)::bigint is null or t.user_id = sqlc.narg(user_id)::bigint) group by t.queue_id)
select q.id, q.name, q.color, coalesce(l.open, 0)::bigint as open, coalesce(l.pending, 0)::bigint as pending, coalesce(e.closed, 0)::bigint as closed,
  coalesce(s.wait_minutes, 0)::float8 as wait_minutes, coalesce(e.support_minutes, 0)::float8 as support_minutes
from messaging.queues q left join live l on l.queue_id = q.id left join started s on s.queue_id = q.id left join ended e on e.queue_id = q.id
where q.company_id = sqlc.arg(company_id) and (sqlc.narg(queue_id)::bigint is null or q.id = sqlc.narg(queue_id)::bigint)
order by q.position nulls last, q.id limit 1000;
