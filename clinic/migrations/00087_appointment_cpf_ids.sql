-- +goose NO TRANSACTION
-- Ids of appointments at connected products that may be CPFs: a job replaces those that are by
-- keyed hashes, which needs the key. Its query has the same pattern.
-- +goose Up
-- An attempt that was broken off leaves an index that is not used.
drop index concurrently if exists clinic.appointments_cpf_ids;
create index concurrently appointments_cpf_ids on clinic.appointments (clinic_id, env, id) where external_id ~ '[0-9]([^[:alnum:]]{0,3}[0-9]){10}';
