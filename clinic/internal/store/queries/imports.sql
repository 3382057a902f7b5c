-- name: InsertImport :exec
insert into clinic.imports (clinic_id, env, id, format, source, dry_run, total, position, line, created_by, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: InsertImportChunk :exec
insert into clinic.import_chunks (clinic_id, env, import_id, n, content) values ($1, $2, $3, $4, $5);

-- name: ImportChunkContent :one
select content from clinic.import_chunks where clinic_id = $1 and env = $2 and import_id = $3 and n = @n;

-- name: ImportByID :one
select * from clinic.imports where clinic_id = $1 and env = $2 and id = $3;

-- name: LockImport :one
select * from clinic.imports where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: ImportsPage :many
select * from clinic.imports where clinic_id = @clinic_id and env = @env order by id desc limit @row_limit::int offset @row_offset::int;

-- name: CountImports :one
select count(*)::int from (select 1 from clinic.imports where clinic_id = @clinic_id and env = @env limit @max_count::int) n;

-- name: CountUnfinishedImports :one
select count(*)::int from clinic.imports where clinic_id = @clinic_id and env = @env and status in ('pending', 'running');

-- name: ImportErrorLines :many
select line, error from clinic.import_errors where clinic_id = $1 and env = $2 and import_id = $3 order by line;

-- name: UpdateImportProgress :exec
update clinic.imports set status = @status, created = created + @created, updated = updated + @updated, skipped = skipped + @skipped,
    failed = failed + @failed, warned = warned + @warned, position = @position, line = @line, full_rows_until = @full_rows_until, problem = @problem, finished_at = @finished_at
where clinic_id = @clinic_id and env = @env and id = @id;

-- name: CountImportErrors :one
select count(*)::int from clinic.import_errors where clinic_id = $1 and env = $2 and import_id = $3;

-- name: InsertImportErrors :exec
-- lines and errors are parallel arrays.
insert into clinic.import_errors (clinic_id, env, import_id, line, error)
select @clinic_id, @env, @import_id, unnest(@lines::int[]), unnest(@errors::text[]);

-- name: InsertImportMatches :exec
-- The arrays are parallel.
insert into clinic.import_matches (clinic_id, env, import_id, patient_id, line, before_enc, after_hmac, source, reference)
select @clinic_id, @env, @import_id, unnest(@patients::uuid[]), unnest(@lines::int[]), unnest(@befores::bytea[]), unnest(@afters::bytea[]),
    nullif(unnest(@sources::text[]), ''), nullif(unnest(@refs::text[]), '');

-- name: ImportMatches :many
select patient_id, line from clinic.import_matches
where clinic_id = @clinic_id and env = @env and import_id = @import_id and patient_id = any(@patients::uuid[]);

-- name: DeleteImportChunks :exec
delete from clinic.import_chunks where clinic_id = $1 and env = $2 and import_id = $3;

-- name: DeleteUnchangedImportMatches :exec
delete from clinic.import_matches where clinic_id = $1 and env = $2 and import_id = $3 and after_hmac is null;

-- name: ImportWarningLines :many
select line, warning from clinic.import_warnings where clinic_id = $1 and env = $2 and import_id = $3 order by line;

-- name: CountImportWarnings :one
select count(*)::int from clinic.import_warnings where clinic_id = $1 and env = $2 and import_id = $3;

-- name: InsertImportWarnings :exec
-- lines and warnings are parallel arrays.
insert into clinic.import_warnings (clinic_id, env, import_id, line, warning)
select @clinic_id, @env, @import_id, unnest(@lines::int[]), unnest(@warnings::text[]);

-- name: DeleteExpiredImportErrors :execrows
-- Of imports that ended before a time, some at a time.
delete from clinic.import_errors d where (d.clinic_id, d.env, d.import_id, d.line) in (
    select e.clinic_id, e.env, e.import_id, e.line from clinic.import_errors e join clinic.imports i on i.clinic_id = e.clinic_id and i.env = e.env and i.id = e.import_id
    where i.finished_at < @before::timestamptz limit @row_limit::int);

-- name: DeleteExpiredImportWarnings :execrows
delete from clinic.import_warnings d where (d.clinic_id, d.env, d.import_id, d.line) in (
    select w.clinic_id, w.env, w.import_id, w.line from clinic.import_warnings w join clinic.imports i on i.clinic_id = w.clinic_id and i.env = w.env and i.id = w.import_id
    where i.finished_at < @before::timestamptz limit @row_limit::int);
