-- An operator stops a tenant until it is resumed: its users and keys are refused, and no job of
-- its product works for it. That of a hosted product can be deleted then: its product erases
-- what it stores, and the row stays without a name, because integrations and the log refer to it.
-- +goose Up
alter table hub.tenants
    add column suspended_at          timestamptz, -- null: it is not suspended
    add column deletion_requested_at timestamptz, -- null: it stays; else suspended_at is set too
    add column deleted_at            timestamptz, -- all is erased
    add constraint tenants_deletion check (deletion_requested_at is null or suspended_at is not null),
    add constraint tenants_deleted check (deleted_at is null or deletion_requested_at is not null);
create index tenants_suspended on hub.tenants (id) where suspended_at is not null and deleted_at is null;
