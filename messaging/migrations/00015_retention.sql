-- +goose NO TRANSACTION
-- Old messages are found without reading all of a company's.
-- +goose Up
create index concurrently if not exists messages_sent on messaging.messages (company_id, sent_at);
