-- A rotation of the webhook secret that another process completes keeps the overlap that was
-- asked for. The count distinguishes what a peer was sent before a rotation from what it was
-- sent after it.
-- +goose Up
alter table hub.integrations add column rotations integer not null default 0;
alter table hub.integrations add column rotation_overlap_seconds integer check (rotation_overlap_seconds >= 0);
