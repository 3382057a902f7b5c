-- Says which master key the products' data is encrypted with.
-- +goose Up
alter table hub.installation add column key_check bytea; -- sealed with the master key, when a product first encrypts something
