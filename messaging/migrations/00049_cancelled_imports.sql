-- Imports of contacts can be cancelled. The table has an import's row for 90 days: few.
-- +goose Up
alter table messaging.contact_imports drop constraint contact_imports_status_check,
  add constraint contact_imports_status_check check (status in ('pending', 'running', 'done', 'failed', 'cancelled'));
