-- name: InsertMerge :exec
insert into clinic.patient_merges (clinic_id, env, id, merged_id, into_id, patient_id, merged_by, merged_at, state_enc)
values ($1, $2, $3, $4, $5, $5, $6, $7, $8);

-- name: Merge :one
select * from clinic.patient_merges where clinic_id = $1 and env = $2 and id = $3;

-- name: LockMerge :one
select * from clinic.patient_merges where clinic_id = $1 and env = $2 and id = $3 for update;

-- name: EndMerge :exec
update clinic.patient_merges set undone_by = $4, undone_at = $5, state_enc = null where clinic_id = $1 and env = $2 and id = $3;

-- name: MergeOfPatient :one
-- The merge that a patient ended in.
select * from clinic.patient_merges where clinic_id = @clinic_id and env = @env and merged_id = @merged_id and undone_at is null order by merged_at desc limit 1;

-- name: MergedIDs :many
-- The ids of the patients whose data a patient has.
select merged_id from clinic.patient_merges where clinic_id = @clinic_id and env = @env and patient_id = @patient_id and undone_at is null order by merged_at desc limit 200;

-- name: EraseMerges :exec
-- Merges into an erased patient cannot be undone.
update clinic.patient_merges set state_enc = null where clinic_id = @clinic_id and env = @env and patient_id = @patient_id and state_enc is not null;

-- name: DropOldMergeStates :execrows
update clinic.patient_merges set state_enc = null where (clinic_id, env, id) in (
    select m.clinic_id, m.env, m.id from clinic.patient_merges m where m.state_enc is not null and m.merged_at < @before::timestamptz limit @row_limit::int for update skip locked);

-- name: EarlierContactIDs :many
select id from clinic.earlier_contacts where clinic_id = @clinic_id and env = @env and patient_id = @patient_id;

-- name: DeleteEarlierContactsByID :exec
delete from clinic.earlier_contacts where clinic_id = @clinic_id and env = @env and patient_id = @patient_id and id = any(@ids::uuid[]);

-- name: AddLinkedPhone :many
-- No row: the number is linked already.
insert into clinic.linked_phones (clinic_id, env, phone_key, patient_id, created_at) values ($1, $2, $3, $4, $5) on conflict do nothing returning phone_key;

-- name: DeleteLinkedPhonesByKey :exec
delete from clinic.linked_phones where clinic_id = @clinic_id and env = @env and patient_id = @patient_id and phone_key = any(@phone_keys::text[]);

-- name: MovePaymentsToTheirAppointments :exec
-- Moves a patient's payments of appointments that are another patient's.
update clinic.payments p set patient_id = @to_id::uuid, updated_at = @updated_at where p.clinic_id = @clinic_id and p.env = @env and p.patient_id = @from_id::uuid
and exists (select from clinic.appointments a where a.clinic_id = p.clinic_id and a.env = p.env and a.id = p.appointment_id and a.patient_id = @to_id);

-- name: MergesOfPatient :many
-- The merges into a patient, also undone ones.
select id, merged_id, merged_at, undone_at from clinic.patient_merges where clinic_id = @clinic_id and env = @env and patient_id = @patient_id order by merged_at desc, id desc;
