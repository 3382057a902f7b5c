-- What a connected product asked for at first: another request with the same source_id is
-- refused, also once the appointment was moved.
-- +goose Up
alter table scheduling.appointments add column source_hash bytea; -- SHA-256; null: none was stored, so every request is a repeat
