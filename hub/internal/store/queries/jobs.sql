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
update hub.jobs set leased_to = clock_timestamp() + sqlc.arg(seconds)::float8 * interval '1 second', holder = sqlc.arg(holder)::text
where id = (
    select j.id from hub.jobs j
    where j.product = sqlc.arg(product) and j.job = sqlc.arg(job) and j.due_at <= sqlc.arg(at)::timestamptz
      and not exists (select from hub.jobs o where o.product = sqlc.arg(product) and o.job = sqlc.arg(job) and o.leased_to > statement_timestamp())
    order by j.due_at limit 1)
  and due_at <= sqlc.arg(at)::timestamptz -- it may just have been put off
returning *;

-- name: RenewJob :execrows
-- No row: the lease has ended or is another process's, and another run may have begun.
update hub.jobs set leased_to = clock_timestamp() + sqlc.arg(seconds)::float8 * interval '1 second'
where id = sqlc.arg(id) and holder = sqlc.arg(holder)::text and leased_to > clock_timestamp();

-- name: DeleteFinishedJob :exec
delete from hub.jobs where id = sqlc.arg(id) and holder = sqlc.arg(holder)::text and not repeats;

-- name: RescheduleRepeatingJob :exec
update hub.jobs set leased_to = null, holder = null, tries = 0, last_error = null, due_at = sqlc.arg(due_at)::timestamptz
where id = sqlc.arg(id) and holder = sqlc.arg(holder)::text and repeats;

-- name: RescheduleFailedJob :execrows
-- After a failure. Where a run with the same key waits already, that one is enough.
update hub.jobs j set leased_to = null, holder = null, tries = j.tries + 1, last_error = sqlc.arg(last_error)::text, due_at = sqlc.arg(due_at)::timestamptz
where j.id = sqlc.arg(id) and j.holder = sqlc.arg(holder)::text and not exists (
    select from hub.jobs o where o.id <> j.id and o.product = j.product and o.job = j.job and o.key = j.key and o.leased_to is null);
