-- A message that is not handed to its network returns the turn that it took.
-- +goose Up
alter table messaging.outbox add column turn_until timestamptz; -- the next_send_at that its lease set; null: it took no turn
