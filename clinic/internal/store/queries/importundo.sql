-- name: ImportMatchesToUndo :many
-- The next ones, by id.
select * from clinic.import_matches where clinic_id = @clinic_id and env = @env and import_id = @import_id and patient_id > @after and after_hmac is not null and kept_reason is null
order by patient_id limit @row_limit::int;

-- name: KeepImportMatch :exec
update clinic.import_matches set kept_reason = $5, before_enc = null where clinic_id = $1 and env = $2 and import_id = $3 and patient_id = $4;

-- name: DeleteImportMatch :exec
delete from clinic.import_matches where clinic_id = $1 and env = $2 and import_id = $3 and patient_id = $4;

-- name: DeletePatientImportMatches :exec
delete from clinic.import_matches where clinic_id = $1 and env = $2 and patient_id = $3;

-- name: KeptImportMatches :many
select patient_id, line, kept_reason from clinic.import_matches
where clinic_id = @clinic_id and env = @env and import_id = @import_id and kept_reason is not null order by line, patient_id limit @row_limit::int;

-- name: DeleteExpiredImportMatches :execrows
-- Of imports that can no longer be undone, some at a time.
delete from clinic.import_matches c where (c.clinic_id, c.env, c.import_id, c.patient_id) in (
    select x.clinic_id, x.env, x.import_id, x.patient_id from clinic.imports i join clinic.import_matches x on x.clinic_id = i.clinic_id and x.env = i.env and x.import_id = i.id
    where i.finished_at < @before::timestamptz and i.undo_status is distinct from 'running' and x.kept_reason is null limit @row_limit::int);

-- name: StartUndo :exec
update clinic.imports set undo_status = 'running' where clinic_id = $1 and env = $2 and id = $3;

-- name: UpdateUndoProgress :exec
update clinic.imports set undone = undone + @undone, kept = kept + @kept, undo_status = @undo_status, undo_finished_at = @undo_finished_at
where clinic_id = @clinic_id and env = @env and id = @id;

-- name: LinkedPatients :many
-- Which of some patients something was added to.
select p.id from clinic.patients p where p.clinic_id = @clinic_id and p.env = @env and p.id = any(@ids::uuid[]) and (
    exists (select from clinic.records x where x.clinic_id = p.clinic_id and x.env = p.env and x.patient_id = p.id)
    or exists (select from clinic.appointments x where x.clinic_id = p.clinic_id and x.env = p.env and x.patient_id = p.id)
    or exists (select from clinic.payments x where x.clinic_id = p.clinic_id and x.env = p.env and x.patient_id = p.id)
    or exists (select from clinic.interactions x where x.clinic_id = p.clinic_id and x.env = p.env and x.patient_id = p.id)
    or exists (select from clinic.tickets x where x.clinic_id = p.clinic_id and x.env = p.env and x.patient_id = p.id)
    or exists (select from clinic.linked_phones x where x.clinic_id = p.clinic_id and x.env = p.env and x.patient_id = p.id)
    or exists (select from clinic.import_matches x where x.clinic_id = p.clinic_id and x.env = p.env and x.patient_id = p.id and x.import_id <> @import_id and x.after_hmac is not null));

-- name: DeletePatientReference :exec
delete from clinic.patient_references where clinic_id = $1 and env = $2 and source = $3 and reference = $4 and patient_id = $5;

-- name: DeletePatientRow :exec
delete from clinic.patients where clinic_id = $1 and env = $2 and id = $3;
