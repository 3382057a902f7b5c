-- What waits for somebody: events that matched no patient, requests to be forgotten,
-- imports.
-- +goose Up
create table clinic.inbox (
    clinic_id   uuid        not null references clinic.clinics (id) on delete cascade,
    env         text        not null check (env in ('live', 'test')),
    id          uuid        not null,
    source      text        not null, -- the connected product
    event_id    text        not null,
    event_type  text        not null,
    occurred_at timestamptz not null,
    phone       text,       -- as far as the event tells
    phone_key   text        generated always as (regexp_replace(phone, '^\+55([0-9]{2})9([016-9][0-9]{7})$', '+55\1\2')) stored,
    name        text,
    external_id text,       -- of the ticket or appointment there
    data_enc    bytea,      -- the event's data, encrypted: what linking it needs
    status      text        not null default 'open' check (status in ('open', 'linked', 'dismissed')),
    patient_id  uuid,
    settled_by  uuid,       -- user; null: nobody who was signed in
    settled_at  timestamptz,
    received_at timestamptz not null default now(),
    primary key (clinic_id, env, id),
    unique (clinic_id, env, source, event_id),
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id),
    foreign key (clinic_id, settled_by) references clinic.users (clinic_id, id) on delete set null (settled_by),
    constraint inbox_settled check ((status = 'open') = (settled_at is null)),
    constraint inbox_linked check ((status = 'linked') = (patient_id is not null)),
    constraint inbox_kept check ((status = 'open') = (data_enc is not null)) -- no longer than it is needed
);
create index inbox_list on clinic.inbox (clinic_id, env, status, id);
create index inbox_phone on clinic.inbox (clinic_id, env, phone_key);
create index inbox_waiting on clinic.inbox (clinic_id, env, source, external_id) where status = 'open';

create table clinic.deletion_requests (
    clinic_id    uuid        not null,
    env          text        not null,
    id           uuid        not null,
    patient_id   uuid        not null,
    status       text        not null default 'waiting' check (status in ('waiting', 'completed')), -- for peers
    event_id     text        not null, -- of patient.deleted
    requested_by uuid,       -- user; null: nobody who was signed in
    requested_at timestamptz not null default now(),
    completed_at timestamptz,
    primary key (clinic_id, env, id),
    unique (clinic_id, env, patient_id),
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id),
    foreign key (clinic_id, requested_by) references clinic.users (clinic_id, id) on delete set null (requested_by),
    constraint deletion_requests_completed check ((status = 'completed') = (completed_at is not null))
);
create index deletion_requests_waiting on clinic.deletion_requests (requested_at) where status = 'waiting';

-- Who has to confirm a deletion: every product that was connected when it was asked for.
create table clinic.deletion_peers (
    clinic_id       uuid        not null,
    env             text        not null,
    request_id      uuid        not null,
    product         text        not null,
    integration_id  uuid        not null,
    status          text        not null default 'pending' check (status in ('pending', 'acknowledged', 'failed')),
    acknowledged_at timestamptz,
    primary key (clinic_id, env, request_id, product),
    foreign key (clinic_id, env, request_id) references clinic.deletion_requests (clinic_id, env, id) on delete cascade,
    constraint deletion_peers_acknowledged check ((status = 'acknowledged') = (acknowledged_at is not null))
);

create table clinic.imports (
    clinic_id    uuid        not null references clinic.clinics (id) on delete cascade,
    env          text        not null check (env in ('live', 'test')),
    id           uuid        not null,
    format       text        not null check (format in ('csv', 'fhir-ndjson')),
    status       text        not null default 'pending' check (status in ('pending', 'running', 'done', 'failed')),
    total        integer     not null default 0, -- lines read so far
    created      integer     not null default 0,
    updated      integer     not null default 0,
    skipped      integer     not null default 0,
    failed       integer     not null default 0, -- lines with an error
    created_by   uuid,       -- user
    created_at   timestamptz not null default now(),
    finished_at  timestamptz,
    primary key (clinic_id, env, id),
    foreign key (clinic_id, created_by) references clinic.users (clinic_id, id) on delete set null (created_by)
);
create index imports_list on clinic.imports (clinic_id, env, id);

-- The uploaded file, encrypted, until it has been read.
create table clinic.import_chunks (
    clinic_id uuid    not null,
    env       text    not null,
    import_id uuid    not null,
    n         integer not null,
    content   bytea   not null,
    primary key (clinic_id, env, import_id, n),
    foreign key (clinic_id, env, import_id) references clinic.imports (clinic_id, env, id) on delete cascade
);

create table clinic.import_errors (
    clinic_id uuid    not null,
    env       text    not null,
    import_id uuid    not null,
    line      integer not null,
    error     text    not null, -- never the value
    primary key (clinic_id, env, import_id, line),
    foreign key (clinic_id, env, import_id) references clinic.imports (clinic_id, env, id) on delete cascade
);
