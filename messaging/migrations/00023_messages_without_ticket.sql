-- +goose NO TRANSACTION
-- +goose Up
create index concurrently if not exists messages_without_ticket on messaging.messages (company_id, contact_id) where ticket_id is null;
