-- name: PatientsByReferences :many
-- sources and refs are parallel arrays.
select patient_id from clinic.patient_references
where clinic_id = @clinic_id and env = @env and (source, reference) in (select unnest(@sources::text[]), unnest(@refs::text[]));

-- name: ReferencesOfPatients :many
select patient_id, source, reference from clinic.patient_references
where clinic_id = @clinic_id and env = @env and patient_id = any(@patients::uuid[]) order by source, reference;

-- name: InsertPatientReferences :exec
-- sources, refs and patients are parallel arrays.
insert into clinic.patient_references (clinic_id, env, source, reference, patient_id, created_at)
select @clinic_id, @env, unnest(@sources::text[]), unnest(@refs::text[]), unnest(@patients::uuid[]), @created_at;

-- name: InsertMergedExternalRef :exec
insert into clinic.patient_references (clinic_id, env, source, reference, patient_id, created_at)
values (@clinic_id, @env, @source, @reference, @patient_id, @created_at)
on conflict (clinic_id, env, source, reference) do update set patient_id = excluded.patient_id;

-- name: DeletePatientReferences :many
delete from clinic.patient_references where clinic_id = $1 and env = $2 and patient_id = $3 returning source, reference;
