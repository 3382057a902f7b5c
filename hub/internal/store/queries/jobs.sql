-- name: EnqueueJob :exec
insert into hub.jobs (id, product, job, key, payload, due_at) values ($1, $2, $3, $4, $5, $6)
on conflict (product, job, key) where key is not null and leased_to is null do nothing;

-- name: CreateRepeatingJob :exec
insert into hub.jobs (id, product, job, repeats, due_at) values ($1, $2, $3, true, $4)
on conflict (product, job) where repeats do nothing;

-- name: TryLockJob :one
-- Keeps two processes from claiming two runs of one job at once.
select pg_try_advisory_xact_lock(hashtextextended('hub.jobs/' || sqlc.arg(product)::text || '/' || sqlc.arg(job)::text, 0));

-- name: ClaimJob :one
-- The oldest due run of a job, unless one of the same job is running somewhere.
update hub.jobs set leased_to = sqlc.arg(until)::timestamptz
where id = (
    select j.id from hub.jobs j
    where j.product = sqlc.arg(product) and j.job = sqlc.arg(job) and j.due_at <= sqlc.arg(at)::timestamptz
      and not exists (select from hub.jobs o where o.product = j.product and o.job = j.job and o.leased_to > sqlc.arg(at)::timestamptz)
    order by j.due_at limit 1)
returning *;

-- name: DeleteFinishedJob :exec
delete from hub.jobs where id = sqlc.arg(id) and not repeats;

-- name: RescheduleRepeatingJob :exec
update hub.jobs set leased_to = null, tries = 0, last_error = null, due_at = sqlc.arg(due_at)::timestamptz where id = sqlc.arg(id) and repeats;

-- name: RescheduleFailedJob :execrows
-- After a failure. Where a run with the same key waits already, that one is enough.
update hub.jobs j set leased_to = null, tries = j.tries + 1, last_error = sqlc.arg(last_error)::text, due_at = sqlc.arg(due_at)::timestamptz
where j.id = sqlc.arg(id) and not exists (
    select from hub.jobs o where o.id <> j.id and o.product = j.product and o.job = j.job and o.key = j.key and o.leased_to is null);
