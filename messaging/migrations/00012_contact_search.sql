-- +goose NO TRANSACTION
-- Contacts are found by any part of their e-mail address, too.
-- +goose Up
create index concurrently if not exists contacts_email_search on messaging.contacts using gin (lower(email) gin_trgm_ops);
