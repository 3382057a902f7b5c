-- name: LockRemoteID :exec
-- A receipt and the storing of its message's id follow each other.
select pg_advisory_xact_lock(hashtextextended(sqlc.arg(remote_id)::text, sqlc.arg(connection_id)::bigint));

-- name: InsertEarlyReceipt :exec
insert into messaging.early_receipts (company_id, connection_id, remote_id, ack, error_code, created_at) values ($1, $2, $3, $4, $5, $6);

-- name: TakeEarlyReceipt :one
delete from messaging.early_receipts where company_id = $1 and connection_id = $2 and remote_id = $3 returning ack, error_code;

-- name: DeleteOldEarlyReceipts :exec
delete from messaging.early_receipts where created_at < $1;
