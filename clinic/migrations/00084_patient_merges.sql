-- Two patients who are one person are merged; a merge can be undone for 30 days.
-- +goose Up
create table clinic.patient_merges (
    clinic_id  uuid        not null,
    env        text        not null,
    id         uuid        not null,
    merged_id  uuid        not null, -- the patient whose row was deleted
    into_id    uuid        not null, -- the patient that got the data
    patient_id uuid        not null, -- who has the data now: another after a later merge
    merged_by  uuid        not null, -- user
    merged_at  timestamptz not null,
    undone_by  uuid,                 -- user
    undone_at  timestamptz,
    state_enc  bytea,                -- what an undo needs, encrypted; null: it cannot be undone any more
    primary key (clinic_id, env, id),
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id),
    check ((undone_at is null) = (undone_by is null)),
    check (undone_at is null or state_enc is null)
);
create index patient_merges_patient on clinic.patient_merges (clinic_id, env, patient_id);
create index patient_merges_merged on clinic.patient_merges (clinic_id, env, merged_id, merged_at desc);
create index patient_merges_undoable on clinic.patient_merges (merged_at) where state_enc is not null;
