-- +goose NO TRANSACTION
-- Operators look people up in all clinics: by e-mail address, and by the end of a CPF.
-- +goose Up
-- An attempt that was broken off leaves an index that is not used.
drop index concurrently if exists clinic.patients_email_anywhere;
create index concurrently patients_email_anywhere on clinic.patients (lower(email)) where email is not null and env = 'live';
drop index concurrently if exists clinic.patients_cpf_end;
create index concurrently patients_cpf_end on clinic.patients (cpf_last2, created_at) where cpf_last2 is not null and env = 'live';
