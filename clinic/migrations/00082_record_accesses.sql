-- Who opened the locked records of an erased patient, and the stated reason.
-- +goose Up
create table clinic.record_accesses (
    clinic_id  uuid        not null,
    env        text        not null,
    id         uuid        not null,
    patient_id uuid        not null,
    user_id    uuid        not null,
    user_name  text        not null,
    reason     text        not null check (char_length(reason) between 10 and 200),
    created_at timestamptz not null,
    primary key (clinic_id, env, id),
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id)
);
create index record_accesses_patient on clinic.record_accesses (clinic_id, env, patient_id, id);
