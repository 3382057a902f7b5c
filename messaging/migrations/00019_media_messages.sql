-- +goose NO TRANSACTION
-- Whether a file is in use is known without reading all messages.
-- +goose Up
create index concurrently if not exists messages_media_id on messaging.messages (company_id, media_id) where media_id is not null;
