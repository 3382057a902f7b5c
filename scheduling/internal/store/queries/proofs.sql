-- name: InsertSpentProof :execrows
insert into scheduling.spent_proofs (org_id, challenge, expires_at) values ($1, $2, $3) on conflict do nothing;

-- name: DeleteExpiredProofs :execrows
delete from scheduling.spent_proofs where expires_at < @before::timestamptz;
