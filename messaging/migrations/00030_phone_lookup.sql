-- +goose NO TRANSACTION
-- The console looks contacts of all companies up by number.
-- +goose Up
create index concurrently if not exists contacts_number_key on messaging.contacts (number_key);
