-- +goose NO TRANSACTION
-- Failed logins of an address, for any account.
-- +goose Up
create index concurrently if not exists login_failures_address on hub.login_failures (ip, at);
