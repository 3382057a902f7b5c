-- Bulk exports of the FHIR facade: what a job has written of each type, for a day.
-- +goose Up
create table clinic.exports (
    clinic_id     uuid        not null references clinic.clinics (id) on delete cascade,
    env           text        not null check (env in ('live', 'test')),
    id            uuid        not null,
    key_id        uuid,                             -- the API key that asked for it; null: an administrator
    peer          text        not null default '',  -- product of the key's integration; '': none
    request       text        not null,             -- its address
    changed_since timestamptz,                      -- null: resources of any age
    complete_to   timestamptz not null,             -- changes until then are in the export
    created_at    timestamptz not null,
    expires_at    timestamptz not null,
    finished_at   timestamptz,                      -- null: the job goes on
    primary key (clinic_id, env, id),
    check (key_id is not null or peer = '')
);
create index exports_expiry on clinic.exports (expires_at);

create table clinic.export_files (
    clinic_id uuid    not null,
    env       text    not null,
    export_id uuid    not null,
    n         integer not null check (n >= 0),                      -- place in the order of writing
    type      text    not null check (char_length(type) between 1 and 64), -- of the resources
    after_id  uuid    not null,                                     -- the last row that is done; zero: none
    resources integer not null default 0 check (resources >= 0),
    chunks    integer not null default 0 check (chunks >= 0),
    done      boolean not null default false,
    primary key (clinic_id, env, export_id, type),
    unique (clinic_id, env, export_id, n),
    foreign key (clinic_id, env, export_id) references clinic.exports (clinic_id, env, id) on delete cascade
);

create table clinic.export_chunks (
    clinic_id uuid    not null,
    env       text    not null,
    export_id uuid    not null,
    type      text    not null,
    n         integer not null check (n >= 0),
    content   bytea   not null, -- lines of JSON, encrypted
    primary key (clinic_id, env, export_id, type, n),
    foreign key (clinic_id, env, export_id, type) references clinic.export_files (clinic_id, env, export_id, type) on delete cascade
);
