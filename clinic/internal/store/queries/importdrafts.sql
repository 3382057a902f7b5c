-- name: UpsertImportDrafts :batchexec
insert into clinic.import_drafts (clinic_id, env, import_id, id, name, phone, email, cpf_hmac, birth_date, status, external_ref, source, reference, line)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
on conflict (clinic_id, env, import_id, id) do update set name = excluded.name, phone = excluded.phone, email = excluded.email, cpf_hmac = excluded.cpf_hmac,
    birth_date = excluded.birth_date, status = excluded.status, external_ref = excluded.external_ref,
    source = coalesce(excluded.source, import_drafts.source), reference = coalesce(excluded.reference, import_drafts.reference);

-- name: ImportDrafts :many
-- Those that share an identifier with a row. sources and refs are parallel arrays.
select * from clinic.import_drafts d where d.clinic_id = @clinic_id and d.env = @env and d.import_id = @import_id and d.id in (
    select a.id from clinic.import_drafts a where a.clinic_id = @clinic_id and a.env = @env and a.import_id = @import_id and a.id = any(@ids::uuid[])
    union all
    select b.id from clinic.import_drafts b where b.clinic_id = @clinic_id and b.env = @env and b.import_id = @import_id and b.external_ref = any(@external_refs::text[])
    union all
    select c.id from clinic.import_drafts c where c.clinic_id = @clinic_id and c.env = @env and c.import_id = @import_id
        and (c.source, c.reference) in (select unnest(@sources::text[]), unnest(@refs::text[]))
    union all
    select e.id from clinic.import_drafts e where e.clinic_id = @clinic_id and e.env = @env and e.import_id = @import_id and e.cpf_hmac = any(@hashes::bytea[])
    union all
    select f.id from clinic.import_drafts f where f.clinic_id = @clinic_id and f.env = @env and f.import_id = @import_id and f.phone_key = any(@phone_keys::text[])
    union all
    select g.id from clinic.import_drafts g where g.clinic_id = @clinic_id and g.env = @env and g.import_id = @import_id and g.phone is null and g.name_search = any(@names::text[])
    union all
    select h.id from clinic.import_drafts h where h.clinic_id = @clinic_id and h.env = @env and h.import_id = @import_id and h.phone_key = any(@fillers::text[]) and h.name_search = any(@names::text[]));

-- name: DeleteImportDrafts :exec
delete from clinic.import_drafts where clinic_id = $1 and env = $2 and import_id = $3;
