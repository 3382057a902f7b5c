-- An operator stops a tenant until it is resumed: its users and keys are refused, and no job of
-- its product works for it.
-- +goose Up
alter table hub.tenants add column suspended_at timestamptz; -- null: it is not suspended
create index tenants_suspended on hub.tenants (id) where suspended_at is not null;
