-- Replays count what became of their deliveries, stay little ahead of what is sent, and can
-- be taken back. Recovering an endpoint is a job of the same kind.
-- +goose Up
alter table hub.replays
    add column kind      text        not null default 'replay' check (kind in ('replay', 'recover')),
    add column delivered bigint      not null default 0,
    add column parked    bigint      not null default 0,
    add column due_at    timestamptz,                        -- of the next step; null: at once
    add column sent_all  boolean     not null default false; -- nothing is left to be made pending
-- retry_at is 'infinity' from now on: processes of earlier versions leave the job alone.

-- Deliveries that replays made pending and that were not settled when last seen.
create table hub.replay_deliveries (
    replay_id   uuid not null references hub.replays (id),
    delivery_id uuid not null,
    primary key (replay_id, delivery_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index replays_cancelled on hub.replays (id) where status = 'cancelled';
