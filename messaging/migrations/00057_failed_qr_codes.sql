-- A connection whose QR code could not be replaced waits, so that others are served.
-- +goose Up
alter table messaging.connection_leases add column renewal_failed_at timestamptz; -- the hub's clock; null: the QR code was replaced
