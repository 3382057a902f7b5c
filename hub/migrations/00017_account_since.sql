-- Events of before an integration's account are not for the account that came after it.
-- +goose Up
alter table hub.integrations add column account_since timestamptz; -- null: there was none before
