-- A request that comes again gets the first answer again.
-- +goose Up
alter table messaging.idempotency_keys add column answer jsonb; -- null: the message is being sent
