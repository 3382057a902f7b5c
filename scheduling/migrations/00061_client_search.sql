-- +goose NO TRANSACTION
-- Clients are found by any part of what people type.
-- +goose Up
create extension if not exists pg_trgm;
create index concurrently if not exists clients_search on scheduling.clients using gin
    (name_search gin_trgm_ops, phone_digits gin_trgm_ops, phone_e164 gin_trgm_ops, lower(email) gin_trgm_ops) where anonymized_at is null;
create index concurrently if not exists clients_cpf_parts on scheduling.clients using gin (cpf_parts) where cpf_parts is not null;
create index concurrently if not exists clients_email on scheduling.clients (org_id, lower(email)) where email is not null;
create index concurrently if not exists clients_cpf_unprepared on scheduling.clients (org_id, id) where cpf_hash is not null and cpf_parts is null;
