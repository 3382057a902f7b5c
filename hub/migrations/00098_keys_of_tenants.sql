-- The valid keys of a tenant and environment are counted when it makes another.
-- +goose NO TRANSACTION
-- +goose Up
-- One that broke off is made anew.
drop index concurrently if exists hub.keys_tenant;
create index concurrently keys_tenant on hub.keys (tenant_id, environment) where revoked_at is null and integration_id is null and not link;
