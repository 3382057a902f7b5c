-- The language that a clinic's users are written to in.
-- +goose Up
alter table clinic.clinics add column locale text not null default 'pt-BR';
