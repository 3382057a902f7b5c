-- An import goes on where it stopped, and knows whom it has met.
-- +goose Up
alter table clinic.imports
    add column position bigint  not null default 0 check (position >= 0), -- bytes of the text that are done
    add column line     integer not null default 1 check (line >= 1),     -- where the rest begins
    add column problem  text; -- why it failed, for people
comment on column clinic.imports.total is 'rows in the file';

-- Whom the lines so far were about: two that tell different things of one patient
-- would change it to and fro with every import of the same file.
create table clinic.import_matches (
    clinic_id  uuid    not null,
    env        text    not null,
    import_id  uuid    not null,
    patient_id uuid    not null,
    line       integer not null,
    primary key (clinic_id, env, import_id, patient_id),
    foreign key (clinic_id, env, import_id) references clinic.imports (clinic_id, env, id) on delete cascade,
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id) on delete cascade
);

-- What the FHIR facade looks for.
create index appointments_clinic on clinic.appointments (clinic_id, env, starts_at);
create index records_clinic on clinic.records (clinic_id, env, date);
create index interactions_clinic on clinic.interactions (clinic_id, env, occurred_at);
