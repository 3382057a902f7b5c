-- name: InsertExport :exec
insert into clinic.exports (clinic_id, env, id, key_id, peer, request, changed_since, complete_to, created_at, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: InsertExportFile :exec
insert into clinic.export_files (clinic_id, env, export_id, n, type, after_id)
values ($1, $2, $3, $4, $5, '00000000-0000-0000-0000-000000000000');

-- name: StoredExports :one
-- How many exports have not expired, and when the first of them does.
select count(*)::int as stored, coalesce(min(expires_at), @now)::timestamptz as first_expiry from clinic.exports
where clinic_id = @clinic_id and env = @env and expires_at > @now;

-- name: ExportByID :one
select * from clinic.exports where clinic_id = @clinic_id and env = @env and id = @id and expires_at > @now;

-- name: LockExport :one
select * from clinic.exports where clinic_id = @clinic_id and env = @env and id = @id and expires_at > @now for update;

-- name: ExportFiles :many
select * from clinic.export_files where clinic_id = $1 and env = $2 and export_id = $3 order by n;

-- name: UpdateExportFile :exec
update clinic.export_files set after_id = @after_id, resources = resources + @resources, chunks = chunks + @chunks, done = @done
where clinic_id = @clinic_id and env = @env and export_id = @export_id and type = @type;

-- name: InsertExportChunk :exec
insert into clinic.export_chunks (clinic_id, env, export_id, type, n, content) values ($1, $2, $3, $4, $5, $6);

-- name: ExportChunkContent :one
select content from clinic.export_chunks where clinic_id = $1 and env = $2 and export_id = $3 and type = $4 and n = @n;

-- name: FinishExport :exec
update clinic.exports set finished_at = @finished_at where clinic_id = @clinic_id and env = @env and id = @id;

-- name: DeleteExport :exec
delete from clinic.exports where clinic_id = $1 and env = $2 and id = $3;

-- name: DeleteExports :exec
delete from clinic.exports where clinic_id = $1 and env = $2;

-- name: DeleteExpiredExports :execrows
delete from clinic.exports where (clinic_id, env, id) in
    (select e.clinic_id, e.env, e.id from clinic.exports e where e.expires_at <= @now order by e.expires_at limit @row_limit::int);
