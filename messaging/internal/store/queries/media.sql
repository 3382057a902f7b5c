-- name: InsertMediaFile :one
insert into messaging.media_files (company_id, id, blob_id, media_type, mime_type, name, user_id, created_at) values ($1, $2, $3, $4, $5, $6, sqlc.narg(user_id), sqlc.arg(created_at)) returning *;

-- name: MediaUsage :one
-- The bytes of files that a company keeps.
select coalesce((select bytes from messaging.media_usage where company_id = $1), 0)::bigint;

-- name: MarkMediaStored :one
update messaging.media_files set is_stored = true, size = $3 where company_id = $1 and id = $2 returning *;

-- name: MediaFile :one
-- Of any company: who may read it is the caller's business.
select * from messaging.media_files where id = $1 and is_stored and erased_at is null;

-- name: MediaOfContact :many
-- Those of its messages and of its scheduled messages.
select m.media_id::text as media_id from messaging.messages m where m.company_id = sqlc.arg(company_id) and m.contact_id = sqlc.arg(contact_id) and m.media_id is not null
union select s.media_id::text from messaging.schedules s where s.company_id = sqlc.arg(company_id) and s.contact_id = sqlc.arg(contact_id) and s.media_id is not null;

-- name: MediaOfTicket :many
select distinct media_id::text from messaging.messages where company_id = $1 and ticket_id = sqlc.arg(ticket_id)::bigint and media_id is not null;

-- name: EraseUnusedMedia :exec
-- Of these files, those that no message, schedule or campaign has any more. Quick messages name files by their
-- addresses, which may be signed.
update messaging.media_files f set erased_at = sqlc.arg(at)::timestamptz
where f.company_id = sqlc.arg(company_id) and f.id = any(sqlc.arg(ids)::text[]) and f.erased_at is null
  and not exists (select from messaging.messages m where m.company_id = f.company_id and m.media_id = f.id)
  and not exists (select from messaging.schedules s where s.company_id = f.company_id and s.media_id = f.id)
  and not exists (select from messaging.campaigns w where w.company_id = f.company_id and w.media_id = f.id)
  and not exists (select from messaging.quick_messages q where q.company_id = f.company_id and split_part(q.media_url, '?', 1) like '%/media/' || f.id);

-- name: EraseAbandonedMedia :one
-- Of a page of files after a place in their order, those that no message, schedule or campaign has:
-- uploads that were never sent, and those of deleted messages. Quick messages name files by their
-- addresses, which may be signed. It returns the length of the page, and its last place.
with page as materialized (
  select f.company_id, f.id, f.created_at from messaging.media_files f
  where f.created_at < sqlc.arg(before)::timestamptz and f.erased_at is null and (f.created_at, f.id) > (sqlc.arg(after_created_at)::timestamptz, sqlc.arg(after_id)::text)
  order by f.created_at, f.id limit sqlc.arg(max_rows)::int
), erased as (
  update messaging.media_files f set erased_at = sqlc.arg(at)::timestamptz from page c
  where f.company_id = c.company_id and f.id = c.id
    and not exists (select from messaging.messages m where m.company_id = c.company_id and m.media_id = c.id)
    and not exists (select from messaging.schedules s where s.company_id = c.company_id and s.media_id = c.id)
    and not exists (select from messaging.campaigns w where w.company_id = c.company_id and w.media_id = c.id)
    and not exists (select from messaging.quick_messages q where q.company_id = c.company_id and split_part(q.media_url, '?', 1) like '%/media/' || c.id)
)
select coalesce((select count(*) from page), 0)::int as files, coalesce(last.created_at, sqlc.arg(after_created_at)::timestamptz)::timestamptz as created_at, coalesce(last.id, '')::text as id
from (select 1) dual left join lateral (select c.created_at, c.id from page c order by c.created_at desc, c.id desc limit 1) last on true;

-- name: ErasedMedia :many
-- After a place in their order.
select company_id, id, erased_at::timestamptz as erased_at from messaging.media_files
where erased_at is not null and (erased_at, id) > (sqlc.arg(after_erased_at)::timestamptz, sqlc.arg(after_id)::text) order by erased_at, id limit sqlc.arg(max_rows)::int;

-- name: LockErasedMedia :one
-- Messages cannot begin to refer to it until the transaction ends.
select * from messaging.media_files where company_id = $1 and id = $2 and erased_at is not null for update;

-- name: DeleteMediaFile :execrows
delete from messaging.media_files f where f.company_id = $1 and f.id = $2
  and not exists (select from messaging.messages m where m.company_id = f.company_id and m.media_id = f.id)
  and not exists (select from messaging.schedules s where s.company_id = f.company_id and s.media_id = f.id)
  and not exists (select from messaging.campaigns w where w.company_id = f.company_id and w.media_id = f.id)
  and not exists (select from messaging.quick_messages q where q.company_id = f.company_id and split_part(q.media_url, '?', 1) like '%/media/' || f.id);

-- name: RestoreMediaFile :exec
-- A message, a schedule, a campaign or a quick message has it after all.
update messaging.media_files set erased_at = null where company_id = $1 and id = $2;

-- name: SetMessageMedia :one
-- The file of a received message has come, unless the message was erased meanwhile.
update messaging.messages set media_id = sqlc.arg(media_id)::text, media_reference = null, mime_type = sqlc.arg(mime_type)::text, media_name = sqlc.arg(media_name)::text, size = sqlc.arg(size)::bigint, updated_at = sqlc.arg(updated_at)
where company_id = sqlc.arg(company_id) and id = sqlc.arg(id) and media_reference is not null returning *;

-- name: GiveUpMessageMedia :one
update messaging.messages set media_reference = null, error_code = sqlc.arg(error_code)::text, updated_at = sqlc.arg(updated_at)
where company_id = sqlc.arg(company_id) and id = sqlc.arg(id) and media_reference is not null returning *;

-- name: UserSeesMedia :one
-- Whether a user who is no administrator may read a file: of a message in a ticket that it sees, of
-- its scheduled messages, of quick messages, or of nothing yet, which the user uploaded. Quick messages name it by an address of this product.
select (exists (select from messaging.messages m join messaging.tickets t on t.company_id = m.company_id and t.id = m.ticket_id
    where m.company_id = sqlc.arg(company_id) and m.media_id = sqlc.arg(id)::text and (t.user_id = sqlc.arg(user_id)::bigint
      or (t.user_id is null or sqlc.arg(all_tickets)::boolean) and (t.queue_id is null or t.queue_id = any(sqlc.arg(queues)::bigint[]))))
  or exists (select from messaging.schedules s where s.company_id = sqlc.arg(company_id) and s.media_id = sqlc.arg(id)::text and s.user_id = sqlc.arg(user_id)::bigint)
  or exists (select from messaging.quick_messages q where q.company_id = sqlc.arg(company_id) and (q.shared or q.user_id = sqlc.arg(user_id)::bigint) and split_part(q.media_url, '?', 1) = any(sqlc.arg(addresses)::text[]))
  or exists (select from messaging.media_files f where f.company_id = sqlc.arg(company_id) and f.id = sqlc.arg(id)::text and f.user_id = sqlc.arg(user_id)::bigint)
    and not exists (select from messaging.messages m where m.company_id = sqlc.arg(company_id) and m.media_id = sqlc.arg(id)::text)
    and not exists (select from messaging.campaigns c where c.company_id = sqlc.arg(company_id) and c.media_id = sqlc.arg(id)::text)
    and not exists (select from messaging.schedules s where s.company_id = sqlc.arg(company_id) and s.media_id = sqlc.arg(id)::text))::boolean;

-- name: MediaOfCompany :many
-- All files of a company in the order of their ids, after one.
select id, blob_id from messaging.media_files where company_id = $1 and id > sqlc.arg(after) order by id limit sqlc.arg(max_rows)::int;
