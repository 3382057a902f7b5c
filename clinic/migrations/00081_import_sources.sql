-- Imports name the list that the patients' numbers belong to, can be tried without changing
-- anything, warn about what they leave out, and can be undone.
-- +goose Up
alter table clinic.imports
    add column source           text    not null default '', -- '': the clinic's own list, whose numbers patients.external_ref has
    add column dry_run          boolean not null default false,
    add column warned           integer not null default 0,  -- lines with a warning
    add column undo_status      text    check (undo_status in ('running', 'done')), -- null: it was not asked for
    add column undone           integer not null default 0,  -- patients as they were before
    add column kept             integer not null default 0,  -- patients that stay as they are
    add column undo_finished_at timestamptz;

-- The numbers of patients in lists other than the clinic's own.
create table clinic.patient_references (
    clinic_id  uuid        not null,
    env        text        not null,
    source     text        not null check (char_length(source) between 1 and 200),
    reference  text        not null check (char_length(reference) between 1 and 200),
    patient_id uuid        not null,
    created_at timestamptz not null default now(),
    primary key (clinic_id, env, source, reference),
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id) on delete cascade
);
create index patient_references_patient on clinic.patient_references (clinic_id, env, patient_id);

create table clinic.import_warnings (
    clinic_id uuid    not null,
    env       text    not null,
    import_id uuid    not null,
    line      integer not null,
    warning   text    not null, -- never the value
    primary key (clinic_id, env, import_id, line),
    foreign key (clinic_id, env, import_id) references clinic.imports (clinic_id, env, id) on delete cascade
);

-- What a patient was before an import, for a day after it. Null: the import changed nothing.
alter table clinic.import_matches
    add column before_enc  bytea, -- encrypted; null: the import created the patient
    add column after_hmac  bytea, -- keyed hash of what the import made of the patient
    add column source      text,  -- of the reference that the import added
    add column reference   text,
    add column kept_reason text;  -- why an undo left the patient as it is
create index import_matches_patient on clinic.import_matches (clinic_id, env, patient_id);

-- Patients as a dry run would leave them, while it runs.
create table clinic.import_drafts (
    clinic_id    uuid    not null,
    env          text    not null,
    import_id    uuid    not null,
    id           uuid    not null,
    name         text    not null,
    name_search  text    not null generated always as (clinic.search_form(name)) stored,
    phone        text,
    phone_key    text    generated always as (regexp_replace(phone, '^\+55([0-9]{2})9([016-9][0-9]{7})$', '+55\1\2')) stored,
    email        text,
    cpf_hmac     bytea,
    birth_date   date,
    status       text    not null,
    external_ref text,
    source       text,   -- of the reference that the import would add
    reference    text,
    line         integer not null,
    primary key (clinic_id, env, import_id, id),
    foreign key (clinic_id, env, import_id) references clinic.imports (clinic_id, env, id) on delete cascade
);
create index import_drafts_phone on clinic.import_drafts (clinic_id, env, import_id, phone_key);
create index import_drafts_name on clinic.import_drafts (clinic_id, env, import_id, name_search) where phone is null;
create index import_drafts_cpf on clinic.import_drafts (clinic_id, env, import_id, cpf_hmac);
create index import_drafts_external_ref on clinic.import_drafts (clinic_id, env, import_id, external_ref);
create index import_drafts_reference on clinic.import_drafts (clinic_id, env, import_id, source, reference);
