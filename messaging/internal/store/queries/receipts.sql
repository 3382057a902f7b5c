-- name: LockRemoteID :exec
-- A receipt and the storing of its message's id follow each other.
select pg_advisory_xact_lock(hashtextextended(sqlc.arg(remote_id)::text, sqlc.arg(connection_id)::bigint));

-- name: InsertEarlyReceipt :exec
-- Ids of networks may have a number in them, and nobody knows yet whose: only a keyed hash is kept.
insert into messaging.early_receipts (company_id, connection_id, remote_id, ack, error_code, created_at) values ($1, $2, $3, $4, $5, $6);

-- name: TakeEarlyReceipt :one
-- By the hash of its id, or by the id: processes of earlier versions keep that.
delete from messaging.early_receipts where company_id = $1 and connection_id = $2 and remote_id = any(sqlc.arg(remote_ids)::text[]) returning ack, error_code;

-- name: DeleteOldEarlyReceipts :exec
delete from messaging.early_receipts where created_at < $1;
