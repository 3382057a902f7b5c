-- name: InsertTombstones :exec
insert into clinic.forgotten (clinic_id, env, hash, forgotten_at) select @clinic_id, @env, unnest(@hashes::bytea[]), @erased_at on conflict do nothing;

-- name: FindTombstones :many
select hash from clinic.forgotten where clinic_id = @clinic_id and env = @env and hash = any(@hashes::bytea[]);
