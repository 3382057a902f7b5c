-- What a key calls its source keeps nothing of another origin out.
-- +goose NO TRANSACTION
-- +goose Up
drop index concurrently if exists clinic.interactions_origin;
create unique index concurrently interactions_origin on clinic.interactions (clinic_id, env, source, source_id, origin);
drop index concurrently if exists clinic.interactions_source;
