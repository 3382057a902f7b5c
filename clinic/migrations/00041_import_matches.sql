-- Whom lines were about are patients of the same clinic and environment. Checked when a
-- batch commits: its matches and its new patients are written together.
-- +goose Up
alter table clinic.import_matches add constraint import_matches_patient
    foreign key (clinic_id, env, patient_id) references clinic.patients (clinic_id, env, id) on delete cascade deferrable initially deferred not valid;
alter table clinic.import_matches validate constraint import_matches_patient;
