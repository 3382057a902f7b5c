-- +goose NO TRANSACTION
-- Who touched a person's data, newest first.
-- +goose Up
create index concurrently if not exists audit_subject on hub.audit (tenant_id, subject_id, id) where subject_id is not null;
