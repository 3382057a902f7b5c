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

-- name: DeleteRules :execrows
delete from scheduling.schedule_rules where org_id = $1 and professional_id = $2;

-- name: ListExceptions :many
select * from scheduling.schedule_exceptions where org_id = @org_id and date between @first and @last
and (sqlc.narg('professional_id')::uuid is null or professional_id = sqlc.narg('professional_id'))
order by date, professional_id, start_minute nulls first, id;

-- name: LockException :one
select * from scheduling.schedule_exceptions where org_id = $1 and id = $2 for update;

-- name: FullExceptionDay :one
-- The first day with as many exceptions as there may be, for one that is new there.
select x.date from scheduling.schedule_exceptions x where x.org_id = @org_id and x.professional_id = @professional_id and x.date between @first and @last
and not exists (select from scheduling.schedule_exceptions e where e.org_id = x.org_id and e.id = @id and e.professional_id = x.professional_id and e.date = x.date)
group by x.date having count(*) >= @max_count::int order by x.date limit 1;

-- name: CreateExceptions :exec
insert into scheduling.schedule_exceptions (org_id, id, professional_id, date, exception_type, start_minute, end_minute, reason)
select @org_id, o.id, @professional_id, o.day, @exception_type, sqlc.narg('start_minute'), sqlc.narg('end_minute'), @reason
from (select unnest(@ids::uuid[]) as id, unnest(@dates::date[]) as day) o;

-- name: UpdateException :one
update scheduling.schedule_exceptions set professional_id = $3, date = $4, exception_type = $5, start_minute = $6, end_minute = $7,
    reason = $8, updated_at = $9 where org_id = $1 and id = $2 returning *;

-- name: DeleteException :execrows
delete from scheduling.schedule_exceptions where org_id = $1 and id = $2;
