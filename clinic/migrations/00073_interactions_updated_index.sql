-- +goose NO TRANSACTION
-- Interactions by when they were written, or their patient forgotten.
-- +goose Up
drop index concurrently if exists clinic.interactions_updated;
create index concurrently interactions_updated on clinic.interactions (clinic_id, env, coalesce(updated_at, created_at));
