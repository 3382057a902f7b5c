-- name: InsertMessage :one
insert into messaging.messages (company_id, id, ticket_id, contact_id, connection_id, remote_id, user_id, body, from_me, is_read, ack, media_type, media_id, media_reference,
  media_name, mime_type, size, quoted_id, is_private, origin, external_key, template, sent_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $24) returning *;

-- name: RemoteMessageExists :one
-- By the id at the network, or by what takes its place once the contact is anonymized.
select exists (select from messaging.messages where company_id = sqlc.arg(company_id) and connection_id = sqlc.arg(connection_id)::bigint and remote_id = any(sqlc.arg(remote_ids)::text[]));

-- name: ContactWroteSince :one
-- Whether a contact has written on a connection after a time.
select exists (select from messaging.messages where company_id = sqlc.arg(company_id) and contact_id = sqlc.arg(contact_id) and connection_id = sqlc.arg(connection_id)::bigint
  and not from_me and sent_at > sqlc.arg(since));

-- name: CountAutomaticMessages :one
-- How many of a ticket's last messages, at most as many as looked at, were written by the product
-- itself after a time.
select count(*) from (select origin, is_private, sent_at from messaging.messages where company_id = sqlc.arg(company_id) and ticket_id = sqlc.arg(ticket_id)::bigint
  order by seq desc limit sqlc.arg(looked_at)::int) recent
where origin = 'bot' and not is_private and sent_at > sqlc.arg(since)::timestamptz;

-- name: Message :one
select * from messaging.messages where company_id = $1 and id = $2;

-- name: MessagesPage :many
select * from messaging.messages where company_id = sqlc.arg(company_id) and ticket_id = sqlc.arg(ticket_id)::bigint order by seq desc offset sqlc.arg(skip)::int limit sqlc.arg(max_rows)::int;

-- name: MessageCount :one
select count(*) from messaging.messages where company_id = $1 and ticket_id = sqlc.arg(ticket_id)::bigint;

-- name: MarkMessagesRead :many
update messaging.messages set is_read = true, updated_at = sqlc.arg(at)::timestamptz where company_id = sqlc.arg(company_id) and ticket_id = sqlc.arg(ticket_id)::bigint and not is_read and not from_me returning remote_id;

-- name: MessagesByRemoteID :many
select * from messaging.messages where company_id = sqlc.arg(company_id) and connection_id = sqlc.arg(connection_id)::bigint and remote_id = any(sqlc.arg(remote_ids)::text[]) and from_me order by seq for no key update;

-- name: SetMessageAck :exec
update messaging.messages set ack = $3, error_code = $4, updated_at = $5 where company_id = $1 and id = $2;

-- name: SetMessageSent :one
-- The transaction has locked the message, so that its contact is not anonymized until it ends. One that
-- was anonymized before keeps no id of the network.
update messaging.messages m set sent_at = sqlc.arg(sent_at), ack = greatest(m.ack, 1), error_code = null, updated_at = sqlc.arg(updated_at),
  remote_id = case when exists (select from messaging.contacts c where c.company_id = m.company_id and c.id = m.contact_id and c.anonymized_at is not null) then sqlc.arg(erased_remote_id)::text else sqlc.arg(remote_id)::text end
where m.company_id = sqlc.arg(company_id) and m.id = sqlc.arg(id) returning m.*;

-- name: SetErasedRemoteID :one
-- Of a message that the network has accepted after its contact was anonymized.
update messaging.messages m set remote_id = sqlc.arg(erased_remote_id)::text, updated_at = sqlc.arg(at) from messaging.contacts c
where m.company_id = sqlc.arg(company_id) and m.id = sqlc.arg(id) and m.remote_id is null and c.company_id = m.company_id and c.id = m.contact_id and c.anonymized_at is not null
returning m.*;

-- name: MessageIDByRemoteID :one
select id from messaging.messages where company_id = sqlc.arg(company_id) and connection_id = sqlc.arg(connection_id)::bigint and remote_id = sqlc.arg(remote_id)::text;

-- name: MessagesByID :many
select * from messaging.messages where company_id = $1 and id = any(sqlc.arg(ids)::text[]);

-- name: HasLaterMessages :one
-- Whether people or the contact wrote in a ticket after a message.
select exists (select from messaging.messages where company_id = $1 and ticket_id = sqlc.narg(ticket_id) and seq > sqlc.arg(seq) and not is_private);

-- name: LockMessage :one
select * from messaging.messages where company_id = $1 and id = $2 for no key update;
