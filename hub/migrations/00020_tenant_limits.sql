-- What a tenant may use, where it differs from the default of all tenants.
-- +goose Up
alter table hub.tenants
    add column limit_endpoints              integer, -- null: the default, here and below
    add column limit_deliveries_per_request integer,
    add column limit_in_flight              integer, -- deliveries under way in one process
    add column limit_queue                  integer; -- deliveries that wait in one process
