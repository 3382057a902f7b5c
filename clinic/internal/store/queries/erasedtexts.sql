-- name: RecordTexts :many
select id, type, professional from clinic.records where clinic_id = $1 and env = $2 and patient_id = @patient_id;

-- name: EraseAndLockRecords :exec
-- Clears the summaries and links of a patient's records and locks them. redact_type and redact_professional list the records
-- whose type or professional names the patient.
update clinic.records set locked_at = @now::timestamptz, updated_at = @now, external_summary = '', url = null, external_ref = null,
    type = case when id = any(@redact_type::uuid[]) then @placeholder::text else type end,
    professional = case when id = any(@redact_professional::uuid[]) then '' else professional end
where clinic_id = @clinic_id and env = @env and patient_id = @patient_id;

-- name: AppointmentTexts :many
select id, service, professional, source, external_id from clinic.appointments where clinic_id = $1 and env = $2 and patient_id = @patient_id;

-- name: EraseAppointmentTexts :exec
-- ids and replacements are parallel arrays. A replacement that another erased appointment has already, because an event came
-- again while the first was erased, gets the row's id.
update clinic.appointments a set reason = null, updated_at = @now,
    service = case when a.id = any(@redact_service::uuid[]) then '' else a.service end,
    professional = case when a.id = any(@redact_professional::uuid[]) then '' else a.professional end,
    external_id = case when exists (select from clinic.appointments t where t.clinic_id = a.clinic_id and t.env = a.env and t.source = a.source and t.external_id = f.replacement)
        then f.replacement || '-' || a.id else coalesce(f.replacement, a.external_id) end
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
-- ids and replacements are parallel arrays. A replacement that another erased interaction has already gets the row's id.
update clinic.interactions i set summary = '', updated_at = @now,
    type = case when i.id = any(@redact_type::uuid[]) then @placeholder::text else i.type end,
    source = case when i.id = any(@redact_source::uuid[]) then @placeholder else i.source end,
    source_id = case when exists (select from clinic.interactions t where t.clinic_id = i.clinic_id and t.env = i.env and t.source in (i.source, @placeholder) and t.source_id = f.replacement and t.origin = i.origin)
        then f.replacement || '-' || i.id else coalesce(f.replacement, i.source_id) end
from clinic.interactions o left join (select unnest(@ids::uuid[]) as id, unnest(@replacements::text[]) as replacement) f on f.id = o.id
where (i.clinic_id, i.env, i.id) = (o.clinic_id, o.env, o.id) and o.clinic_id = @clinic_id and o.env = @env and o.patient_id = @patient_id;
