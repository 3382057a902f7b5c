-- When an interaction was changed, which happens only when its patient is forgotten: who
-- keeps a copy has to hear of it. Null: it is as it was written.
-- +goose Up
alter table clinic.interactions add column updated_at timestamptz;
