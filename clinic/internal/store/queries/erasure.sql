-- name: AnonymizePatient :exec
update clinic.patients set name = 'Removed', phone = null, email = null, cpf_enc = null, cpf_hmac = null, cpf_last2 = null, birth_date = null,
    external_ref = null, status = 'anonymized', anonymized_at = $4, updated_at = $4 where clinic_id = $1 and env = $2 and id = $3;

-- name: RecordTexts :many
select id, type, professional from clinic.records where clinic_id = $1 and env = $2 and patient_id = @patient_id;

-- name: EraseRecordTexts :exec
-- Clears the summaries and links of a patient's records and locks them. redact_type and redact_professional list the records
-- whose type or professional names the patient.
update clinic.records set locked_at = @now::timestamptz, updated_at = @now, external_summary = '', url = null, external_ref = null,
    type = case when id = any(@redact_type::uuid[]) then @placeholder::text else type end,
    professional = case when id = any(@redact_professional::uuid[]) then '' else professional end
where clinic_id = @clinic_id and env = @env and patient_id = @patient_id;

-- name: AppointmentTexts :many
select id, service, professional, source, external_id from clinic.appointments where clinic_id = $1 and env = $2 and patient_id = @patient_id;

-- name: EraseAppointmentTexts :exec
-- ids and replacements are parallel arrays.
update clinic.appointments a set reason = null, updated_at = @now,
    service = case when a.id = any(@redact_service::uuid[]) then '' else a.service end,
    professional = case when a.id = any(@redact_professional::uuid[]) then '' else a.professional end,
    external_id = coalesce(f.replacement, a.external_id)
from clinic.appointments o left join (select unnest(@ids::uuid[]) as id, unnest(@replacements::text[]) as replacement) f on f.id = o.id
where (a.clinic_id, a.env, a.id) = (o.clinic_id, o.env, o.id) and o.clinic_id = @clinic_id and o.env = @env and o.patient_id = @patient_id;

-- name: PaymentMethods :many
select id, method::text from clinic.payments where clinic_id = $1 and env = $2 and patient_id = @patient_id and method is not null;

-- name: ErasePaymentTexts :exec
update clinic.payments set description = '', updated_at = @now, method = case when id = any(@redact_method::uuid[]) then null else method end
where clinic_id = @clinic_id and env = @env and patient_id = @patient_id;

-- name: InteractionTexts :many
select id, type, source, source_id from clinic.interactions where clinic_id = $1 and env = $2 and patient_id = @patient_id;

-- name: EraseInteractionTexts :exec
-- ids and replacements are parallel arrays.
update clinic.interactions i set summary = '', updated_at = @now,
    type = case when i.id = any(@redact_type::uuid[]) then @placeholder::text else i.type end,
    source = case when i.id = any(@redact_source::uuid[]) then @placeholder else i.source end,
    source_id = coalesce(f.replacement, i.source_id)
from clinic.interactions o left join (select unnest(@ids::uuid[]) as id, unnest(@replacements::text[]) as replacement) f on f.id = o.id
where (i.clinic_id, i.env, i.id) = (o.clinic_id, o.env, o.id) and o.clinic_id = @clinic_id and o.env = @env and o.patient_id = @patient_id;

-- name: ErasedSourceExists :one
select exists (select from clinic.interactions where clinic_id = @clinic_id and env = @env and source = any(@sources::text[]) and source_id = @source_id and origin = @origin);

-- name: DeleteTickets :many
delete from clinic.tickets where clinic_id = @clinic_id and env = @env and patient_id = @patient_id returning source, ticket_id;

-- name: DeleteLinkedPhones :many
delete from clinic.linked_phones where clinic_id = @clinic_id and env = @env and patient_id = @patient_id returning phone_key;

-- name: SharedPhones :many
-- The phone keys that another patient has too.
select k.key::text from unnest(@phone_keys::text[]) k(key)
where exists (select from clinic.patients p where p.clinic_id = @clinic_id and p.env = @env and p.phone_key = k.key and p.status <> 'anonymized' and p.id <> @patient_id)
or exists (select from clinic.linked_phones l where l.clinic_id = @clinic_id and l.env = @env and l.phone_key = k.key and l.patient_id <> @patient_id);

-- name: SharedEmails :many
-- The e-mail addresses, in lower case, that another patient has too.
select e.email::text from unnest(@emails::text[]) e(email)
where exists (select from clinic.patients p where p.clinic_id = @clinic_id and p.env = @env and lower(p.email) = e.email and p.status <> 'anonymized' and p.id <> @patient_id);

-- name: PatientEventIDs :many
-- The ids of peers' events in a patient's history, and of those that are being linked to the patient.
select h.source_id from clinic.interactions h where h.clinic_id = @clinic_id and h.env = @env and h.patient_id = @patient_id and h.origin = 'event' and h.source_id like 'evt\_%'
union
select i.event_id from clinic.linkings l join clinic.inbox i on i.clinic_id = l.clinic_id and i.env = l.env and i.status = 'open' and i.meant_for is null
    and (i.phone_key = l.phone_key or i.source = l.source and i.external_id = l.external_id) and (i.occurred_at, i.id) > (l.after_at, l.after_id)
where l.clinic_id = @clinic_id and l.env = @env and l.patient_id = @patient_id and i.event_id like 'evt\_%'
union
select i.event_id from clinic.inbox i where i.clinic_id = @clinic_id and i.env = @env and i.meant_for = @patient_id and i.event_id like 'evt\_%';

-- name: InsertEarlierContact :exec
insert into clinic.earlier_contacts (clinic_id, env, id, patient_id, kind, value_enc, value_hmac, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (clinic_id, env, patient_id, kind, value_hmac) do nothing;

-- name: DeleteEarlierContacts :many
delete from clinic.earlier_contacts where clinic_id = @clinic_id and env = @env and patient_id = @patient_id returning id, kind, value_enc;

-- name: InsertTombstones :exec
insert into clinic.forgotten (clinic_id, env, hash, forgotten_at) select @clinic_id, @env, unnest(@hashes::bytea[]), @erased_at on conflict do nothing;

-- name: FindTombstones :many
select hash from clinic.forgotten where clinic_id = @clinic_id and env = @env and hash = any(@hashes::bytea[]);
