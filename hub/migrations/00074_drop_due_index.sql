-- deliveries_due_priority took its place.
-- +goose Up
drop index hub.deliveries_due;
