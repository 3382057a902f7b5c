-- +goose NO TRANSACTION
-- The inbox of a clinic that hears of every stranger's message: what is linked is settled
-- in steps, addresses are found by an index, and nothing waits for ever.
-- +goose Up
alter table clinic.inbox
    add column if not exists email_hmac bytea, -- keyed hash of the e-mail address it tells, while it is open; empty: it tells none; null: not known yet
    add column if not exists meant_for  uuid;  -- patient it is about; it waits only because older ones of the same number or subject do
alter table clinic.inbox drop constraint if exists inbox_meant_for;
alter table clinic.inbox add constraint inbox_meant_for foreign key (clinic_id, env, meant_for) references clinic.patients (clinic_id, env, id) not valid;
alter table clinic.inbox validate constraint inbox_meant_for;

-- What waits from a number, or about a ticket or appointment, on its way to a patient. A
-- row goes when there is nothing left to settle.
create table if not exists clinic.linkings (
    clinic_id   uuid        not null references clinic.clinics (id) on delete cascade,
    env         text        not null check (env in ('live', 'test')),
    id          uuid        not null, -- of the entry that was linked, where that began it
    patient_id  uuid        not null,
    phone_key   text,       -- of the number
    source      text        not null,
    external_id text,       -- of the ticket or appointment there
    settled_by  uuid,       -- user; null: nobody who was signed in
    after_at    timestamptz not null, -- the last entry that was looked at
    after_id    uuid        not null,
    created_at  timestamptz not null default now(),
    primary key (clinic_id, env, id),
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id),
    foreign key (clinic_id, settled_by) references clinic.users (clinic_id, id) on delete set null (settled_by)
);
create index if not exists linkings_phone on clinic.linkings (clinic_id, env, phone_key);
create index if not exists linkings_subject on clinic.linkings (clinic_id, env, source, external_id);
create index if not exists linkings_patient on clinic.linkings (clinic_id, env, patient_id);

-- In the order in which they are settled. An index whose making was cut short is no use.
drop index concurrently if exists clinic.inbox_open_phone;
create index concurrently inbox_open_phone on clinic.inbox (clinic_id, env, phone_key, occurred_at, id) where status = 'open';
drop index concurrently if exists clinic.inbox_open_subject;
create index concurrently inbox_open_subject on clinic.inbox (clinic_id, env, source, external_id, occurred_at, id) where status = 'open';
drop index concurrently if exists clinic.inbox_meant;
create index concurrently inbox_meant on clinic.inbox (clinic_id, env, meant_for) where meant_for is not null;
drop index concurrently if exists clinic.inbox_patient;
create index concurrently inbox_patient on clinic.inbox (clinic_id, env, patient_id) where patient_id is not null;
drop index concurrently if exists clinic.inbox_email;
create index concurrently inbox_email on clinic.inbox (clinic_id, env, email_hmac) where status = 'open' and email_hmac is not null;
drop index concurrently if exists clinic.inbox_unhashed;
create index concurrently inbox_unhashed on clinic.inbox (clinic_id, env, id) where status = 'open' and email_hmac is null;
drop index concurrently if exists clinic.inbox_open_age;
create index concurrently inbox_open_age on clinic.inbox (received_at) where status = 'open';
drop index concurrently if exists clinic.inbox_settled_age;
create index concurrently inbox_settled_age on clinic.inbox (settled_at) where status <> 'open';
drop index concurrently if exists clinic.inbox_phone;
drop index concurrently if exists clinic.inbox_waiting;
