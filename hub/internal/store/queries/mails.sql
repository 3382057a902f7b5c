-- name: CreateMail :exec
insert into hub.mails (id, product, tenant_id, recipient, from_name, reply_to, subject, body, html, attachments, status, about, unsubscribe)
values ($1, $2, sqlc.narg(tenant_id)::uuid, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);

-- name: ClaimMails :many
-- Leases what is due to this process. The database's clock counts. Tenants have their turn one after
-- the other, those in last, as product and id, after all others. What other processes lease at the
-- same time is passed over: a few more are looked at.
update hub.mails set attempts = attempts + 1, due_at = now() + make_interval(secs => sqlc.arg(lease_seconds)::float8)
where id in (
    select m.id from (
        select id, due_at, product || coalesce(tenant_id::text, '') = any(sqlc.arg(last)::text[]) as is_last,
            row_number() over (partition by product, tenant_id order by due_at, id) as turn
        from hub.mails where status = 'waiting' and due_at <= now()
        order by is_last, turn, due_at limit 4 * sqlc.arg(row_limit)::int) next
    join hub.mails m on m.id = next.id
    where m.status = 'waiting' and m.due_at <= now()
    order by next.is_last, next.turn, next.due_at limit sqlc.arg(row_limit)::int for update of m skip locked)
returning id, product, tenant_id, recipient, from_name, reply_to, subject, body, html, attachments, unsubscribe, attempts, created_at,
    extract(epoch from now() - created_at)::float8 as age_seconds;

-- name: SetMailDueAt :exec
update hub.mails set due_at = now() + make_interval(secs => sqlc.arg(seconds)::float8)
where id = $1 and status = 'waiting';

-- name: UnclaimMail :exec
-- Gives back what was claimed and not tried.
update hub.mails set due_at = now(), attempts = attempts - 1 where id = $1 and status = 'waiting';

-- name: SetMailStatus :exec
update hub.mails set status = $2 where id = $1;

-- name: DeleteMail :exec
delete from hub.mails where id = $1;

-- name: DeleteMailsAboutSubject :exec
delete from hub.mails where product = sqlc.arg(product) and tenant_id = sqlc.arg(tenant_id)::uuid
  and about = sqlc.arg(about)::text and about <> '';

-- name: DeleteOldMails :exec
delete from hub.mails where status <> 'waiting' and created_at < now() - make_interval(secs => sqlc.arg(seconds)::float8);

-- name: ListMails :many
select id, recipient, subject, body, html, created_at from hub.mails
where (sqlc.arg(recipient)::text = '' or lower(recipient) = lower(sqlc.arg(recipient)::text))
  and (sqlc.narg(before)::uuid is null or id < sqlc.narg(before)::uuid)
order by id desc limit sqlc.arg(row_limit);
