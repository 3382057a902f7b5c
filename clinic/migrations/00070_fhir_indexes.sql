-- +goose NO TRANSACTION
-- What the FHIR facade looks for beside days: when something changed, how it stands, and
-- birthdays.
-- +goose Up
-- An attempt that was broken off leaves an index that is not used.
drop index concurrently if exists clinic.patients_born;
create index concurrently patients_born on clinic.patients (clinic_id, env, birth_date);
drop index concurrently if exists clinic.patients_status;
create index concurrently patients_status on clinic.patients (clinic_id, env, status, id);
drop index concurrently if exists clinic.patients_changed;
create index concurrently patients_changed on clinic.patients (clinic_id, env, updated_at);
drop index concurrently if exists clinic.appointments_status;
create index concurrently appointments_status on clinic.appointments (clinic_id, env, status, id);
drop index concurrently if exists clinic.appointments_changed;
create index concurrently appointments_changed on clinic.appointments (clinic_id, env, updated_at);
drop index concurrently if exists clinic.records_changed;
create index concurrently records_changed on clinic.records (clinic_id, env, updated_at);
