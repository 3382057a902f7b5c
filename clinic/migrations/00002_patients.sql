-- Patients and what the clinic keeps about them. `env` keeps sandbox data apart: it
-- is part of every key, and so of every reference.
-- +goose Up
create table clinic.professionals (
    clinic_id  uuid        not null references clinic.clinics (id) on delete cascade,
    env        text        not null check (env in ('live', 'test')),
    id         uuid        not null,
    name       text        not null check (char_length(name) between 1 and 120),
    specialty  text        check (char_length(specialty) <= 120),
    register   text        check (char_length(register) <= 60), -- at the council: CRM/SP 123456
    is_active  boolean     not null default true,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (clinic_id, env, id)
);
create index professionals_name on clinic.professionals (clinic_id, env, name, id);

-- What names and searches are compared in: lower case, without accents.
create function clinic.search_form(text) returns text language sql immutable parallel safe as $$
    select regexp_replace(normalize(lower($1), NFD), '[\u0300-\u036f]', '', 'g')
$$;

create table clinic.patients (
    clinic_id     uuid        not null references clinic.clinics (id) on delete cascade,
    env           text        not null check (env in ('live', 'test')),
    id            uuid        not null,
    name          text        not null check (char_length(name) between 1 and 120),
    name_search   text        not null generated always as (clinic.search_form(name)) stored,
    phone         text        check (phone ~ '^\+[0-9]{8,15}$'), -- international; not unique, families share one
    -- The same for a Brazilian mobile with and without its ninth digit. After the
    -- nine, 2 to 5 would make a landline of what is left: those keep it.
    phone_key     text        generated always as (regexp_replace(phone, '^\+55([0-9]{2})9([016-9][0-9]{7})$', '+55\1\2')) stored,
    email         text        check (char_length(email) <= 254),
    cpf_enc       bytea,      -- encrypted; the whole number stands nowhere else
    cpf_hmac      bytea,      -- keyed hash of the digits, to find them
    cpf_last2     text        check (cpf_last2 ~ '^[0-9]{2}$'),
    birth_date    date,
    status        text        not null default 'active' check (status in ('active', 'inactive', 'anonymized')),
    external_ref  text        check (char_length(external_ref) between 1 and 200), -- its id where it was imported from
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    anonymized_at timestamptz,
    primary key (clinic_id, env, id),
    constraint patients_cpf_whole check ((cpf_enc is null) = (cpf_hmac is null) and (cpf_enc is null) = (cpf_last2 is null)),
    constraint patients_anonymized check ((status = 'anonymized') = (anonymized_at is not null)),
    constraint patients_forgotten check (status <> 'anonymized' or
        (phone is null and email is null and cpf_enc is null and birth_date is null and external_ref is null))
);
create unique index patients_cpf on clinic.patients (clinic_id, env, cpf_hmac);
create unique index patients_external_ref on clinic.patients (clinic_id, env, external_ref);
create index patients_phone on clinic.patients (clinic_id, env, phone_key);
create index patients_phone_anywhere on clinic.patients (phone_key);
create index patients_name on clinic.patients (clinic_id, env, name_search text_pattern_ops, id);
create index patients_email on clinic.patients (clinic_id, env, lower(email));

-- Numbers an administrator said are a patient's too, when linking what came from them.
create table clinic.linked_phones (
    clinic_id  uuid        not null,
    env        text        not null,
    phone_key  text        not null,
    patient_id uuid        not null,
    created_at timestamptz not null default now(),
    primary key (clinic_id, env, phone_key),
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id) on delete cascade
);
create index linked_phones_patient on clinic.linked_phones (clinic_id, env, patient_id);

create table clinic.records (
    clinic_id        uuid        not null,
    env              text        not null,
    id               uuid        not null,
    patient_id       uuid        not null,
    date             date        not null,
    type             text        not null check (char_length(type) between 1 and 60),
    professional     text        not null default '' check (char_length(professional) <= 120), -- display name
    content_enc      bytea,      -- encrypted; nobody but the clinic's users reads it
    external_summary text        not null default '' check (char_length(external_summary) <= 500), -- for connected products
    url              text        check (char_length(url) <= 2048),
    sensitivity      text        not null default 'N' check (sensitivity in ('N', 'R', 'V')), -- normal, restricted, very restricted
    external_ref     text        check (char_length(external_ref) between 1 and 200), -- its id where it was imported from
    created_by       uuid,       -- user; null: nobody who was signed in
    locked_at        timestamptz, -- its patient was forgotten: kept by law, and not changed any more
    created_at       timestamptz not null default now(),
    updated_at       timestamptz not null default now(),
    primary key (clinic_id, env, id),
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id),
    foreign key (clinic_id, created_by) references clinic.users (clinic_id, id) on delete set null (created_by)
);
create index records_patient on clinic.records (clinic_id, env, patient_id, date desc, id desc);
create unique index records_external_ref on clinic.records (clinic_id, env, external_ref);

create table clinic.appointments (
    clinic_id    uuid        not null,
    env          text        not null,
    id           uuid        not null,
    patient_id   uuid        not null,
    starts_at    timestamptz not null,
    service      text        not null default '' check (char_length(service) <= 200),
    professional text        not null default '' check (char_length(professional) <= 120), -- display name
    status       text        not null default 'scheduled' check (status in ('scheduled', 'confirmed', 'completed', 'cancelled', 'no_show')),
    reason       text        check (char_length(reason) <= 500), -- of a cancellation
    reminded_at  timestamptz,
    source       text        check (char_length(source) between 1 and 60), -- the connected product it came from; null: made here
    external_id  text        check (char_length(external_id) between 1 and 200), -- its id there, where it told one
    created_at   timestamptz not null default now(),
    updated_at   timestamptz not null default now(),
    primary key (clinic_id, env, id),
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id),
    check (external_id is null or source is not null)
);
create unique index appointments_external on clinic.appointments (clinic_id, env, source, external_id);
-- A product that tells no ids names its appointments by who and when.
create unique index appointments_nameless on clinic.appointments (clinic_id, env, source, patient_id, starts_at)
    where source is not null and external_id is null;
create index appointments_patient on clinic.appointments (clinic_id, env, patient_id, starts_at desc, id desc);

create table clinic.payments (
    clinic_id           uuid          not null,
    env                 text          not null,
    id                  uuid          not null,
    patient_id          uuid          not null,
    appointment_id      uuid,
    amount              numeric(12,2) not null check (amount > 0),
    description         text          not null default '' check (char_length(description) <= 200),
    due_date            date          not null,
    status              text          not null default 'pending' check (status in ('pending', 'paid', 'overdue', 'cancelled')),
    method              text          check (char_length(method) <= 40),
    paid_at             timestamptz,
    overdue_notified_at timestamptz,  -- connected products were told; once in its life
    created_at          timestamptz   not null default now(),
    updated_at          timestamptz   not null default now(),
    primary key (clinic_id, env, id),
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id),
    foreign key (clinic_id, env, appointment_id) references clinic.appointments (clinic_id, env, id),
    constraint payments_paid check ((status = 'paid') = (paid_at is not null)),
    constraint payments_overdue check (status <> 'overdue' or overdue_notified_at is not null)
);
create index payments_patient on clinic.payments (clinic_id, env, patient_id, due_date desc, id desc);
create index payments_due on clinic.payments (due_date, clinic_id, env) where status = 'pending' and overdue_notified_at is null;

-- What connected products did with a patient.
create table clinic.interactions (
    clinic_id   uuid        not null,
    env         text        not null,
    id          uuid        not null,
    patient_id  uuid        not null,
    type        text        not null check (type ~ '^[a-z][a-z0-9_]*$' and char_length(type) <= 60),
    summary     text        not null default '' check (char_length(summary) <= 4000),
    source      text        not null check (char_length(source) between 1 and 60),
    source_id   text        not null check (char_length(source_id) between 1 and 200), -- there; of events, the event's id
    occurred_at timestamptz not null,
    created_at  timestamptz not null default now(),
    primary key (clinic_id, env, id),
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id)
);
create unique index interactions_source on clinic.interactions (clinic_id, env, source, source_id);
create index interactions_patient on clinic.interactions (clinic_id, env, patient_id, occurred_at desc, id desc);

-- Whose ticket it is: the event that closes one names nobody.
create table clinic.tickets (
    clinic_id  uuid not null,
    env        text not null,
    source     text not null,
    ticket_id  text not null check (char_length(ticket_id) between 1 and 200),
    patient_id uuid not null,
    primary key (clinic_id, env, source, ticket_id),
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id)
);
create index tickets_patient on clinic.tickets (clinic_id, env, patient_id);
