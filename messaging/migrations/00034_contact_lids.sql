-- +goose NO TRANSACTION
-- Networks name senders by LIDs that belong to a contact each.
-- +goose Up
create unique index concurrently if not exists contacts_lid on messaging.contacts (company_id, lid) where lid is not null;
