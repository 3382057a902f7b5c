-- +goose NO TRANSACTION
-- Clients are found by any part of what people type.
-- +goose Up
create extension if not exists pg_trgm;
-- An attempt that was broken off leaves an index that is not used.
drop index concurrently if exists scheduling.clients_search;
create index concurrently clients_search on scheduling.clients using gin
    (name_search gin_trgm_ops, phone_digits gin_trgm_ops, phone_e164 gin_trgm_ops, lower(email) gin_trgm_ops) where anonymized_at is null;
drop index concurrently if exists scheduling.clients_cpf_parts;
create index concurrently clients_cpf_parts on scheduling.clients using gin (cpf_parts) where cpf_parts is not null;
drop index concurrently if exists scheduling.clients_cpf_unprepared;
create index concurrently clients_cpf_unprepared on scheduling.clients (org_id, id) where cpf_hash is not null and cpf_parts is null;
