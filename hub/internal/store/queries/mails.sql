-- name: CreateMail :exec
insert into hub.mails (id, product, tenant_id, recipient, from_name, reply_to, subject, body, html, attachments, status, about, unsubscribe)
values ($1, $2, sqlc.narg(tenant_id)::uuid, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);

-- name: ClaimMails :many
-- Leases what is due to this process. The database's clock counts. Senders, products and their
-- tenants, have their turn one after the other, those in last, as product and tenant, after all
-- others. Each is found by one look into the index, however many mails wait. What other processes
-- lease at the same time is passed over: a few more are looked at.
with recursive senders as (
        (select w.product, coalesce(w.tenant_id, '00000000-0000-0000-0000-000000000000'::uuid) as tenant from hub.mails w
         where w.status = 'waiting' order by w.product, coalesce(w.tenant_id, '00000000-0000-0000-0000-000000000000'::uuid) limit 1)
        union all
        select n.product, n.tenant from senders s, lateral (
            select w.product, coalesce(w.tenant_id, '00000000-0000-0000-0000-000000000000'::uuid) as tenant from hub.mails w
            where w.status = 'waiting' and (w.product, coalesce(w.tenant_id, '00000000-0000-0000-0000-000000000000'::uuid)) > (s.product, s.tenant)
            order by w.product, coalesce(w.tenant_id, '00000000-0000-0000-0000-000000000000'::uuid) limit 1) n),
    next as (
        select d.id, d.due_at, d.turn, s.product || s.tenant::text = any(sqlc.arg(last)::text[]) as is_last
        from senders s, lateral (
            select q.id, q.due_at, row_number() over (order by q.due_at, q.id) as turn from (
                select w.id, w.due_at from hub.mails w
                where w.status = 'waiting' and w.product = s.product and coalesce(w.tenant_id, '00000000-0000-0000-0000-000000000000'::uuid) = s.tenant and w.due_at <= now()
                order by w.due_at, w.id limit 4 * sqlc.arg(row_limit)::int) q) d
        order by is_last, d.turn, d.due_at limit 4 * sqlc.arg(row_limit)::int),
    chosen as (
    select m.id from next join hub.mails m on m.id = next.id
        where m.status = 'waiting' and m.due_at <= now()
        order by next.is_last, next.turn, next.due_at limit sqlc.arg(row_limit)::int for update of m skip locked)
update hub.mails u set attempts = u.attempts + 1, due_at = now() + make_interval(secs => sqlc.arg(lease_seconds)::float8)
from chosen c where u.id = c.id
returning u.id, u.product, u.tenant_id, u.recipient, u.from_name, u.reply_to, u.subject, u.body, u.html, u.attachments, u.unsubscribe, u.attempts, u.created_at,
    extract(epoch from now() - u.created_at)::float8 as age_seconds;

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
