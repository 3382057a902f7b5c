-- +goose Up
-- Integrations are never deleted. Checking that they are there cost a look-up and a lock
-- on the integration's row for every event received, and concurrent commits shared it.
alter table hub.received drop constraint received_tenant_id_integration_id_fkey;

-- +goose Down
alter table hub.received add foreign key (tenant_id, integration_id) references hub.integrations (tenant_id, id);
