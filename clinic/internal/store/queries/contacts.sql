-- name: InsertEarlierContact :exec
insert into clinic.earlier_contacts (clinic_id, env, id, patient_id, kind, value_enc, value_hmac, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (clinic_id, env, patient_id, kind, value_hmac) do nothing;

-- name: PatientsByEarlierName :many
-- Those of some patients who have one of the hashes of a name.
select distinct patient_id from clinic.earlier_contacts
where clinic_id = @clinic_id and env = @env and patient_id = any(@patients::uuid[]) and kind in ('name', 'former_name') and value_hmac = any(@hashes::bytea[]);

-- name: DeleteEarlierContacts :many
delete from clinic.earlier_contacts where clinic_id = @clinic_id and env = @env and patient_id = @patient_id returning id, kind, value_enc;

-- name: LinkedPhones :many
select phone_key from clinic.linked_phones where clinic_id = @clinic_id and env = @env and patient_id = @patient_id order by created_at, phone_key;

-- name: UpsertLinkedPhone :exec
insert into clinic.linked_phones (clinic_id, env, phone_key, patient_id, created_at) values ($1, $2, $3, $4, $5)
on conflict (clinic_id, env, phone_key) do update set patient_id = excluded.patient_id, created_at = excluded.created_at;

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

-- name: EarlierPhones :many
select id, value_enc from clinic.earlier_contacts where clinic_id = @clinic_id and env = @env and patient_id = @patient_id and kind = 'phone' order by id desc limit 200;

-- name: PatientHasPhone :one
-- Whether a patient has a number itself or by a link.
select (exists (select from clinic.patients p where p.clinic_id = @clinic_id and p.env = @env and p.id = @patient_id and p.phone_key = @phone_key::text)
or exists (select from clinic.linked_phones l where l.clinic_id = @clinic_id and l.env = @env and l.patient_id = @patient_id and l.phone_key = @phone_key))::bool;

-- name: EarlierContacts :many
select id, kind, value_enc, created_at from clinic.earlier_contacts where clinic_id = @clinic_id and env = @env and patient_id = @patient_id order by created_at desc, id desc;
