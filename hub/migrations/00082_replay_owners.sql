-- Replays that keys start: they belong to the key's tenant and environment.
-- +goose Up
alter table hub.replays
    add column tenant_id   uuid, -- null: an operator started it
    add column environment text check (environment in ('live', 'test')),
    add constraint replays_owner check ((tenant_id is null) = (environment is null));
create index replays_owner on hub.replays (tenant_id, environment, id) where tenant_id is not null;
