-- The live holds of a client's network address are limited.
-- +goose Up
alter table scheduling.holds add column address_hash bytea; -- of the address; null: nothing is limited by it
create index holds_address on scheduling.holds (org_id, address_hash) where address_hash is not null;
