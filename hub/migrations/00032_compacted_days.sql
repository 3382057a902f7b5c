-- A day whose retention has ended is reduced to what still waits. What was dropped stays in
-- the balance of the day.
-- +goose Up
create table hub.compacted_days (
    day          date        primary key,
    delivered    bigint      not null, -- of its outbound deliveries, dropped
    failed       bigint      not null,
    compacted_at timestamptz not null default now()
);
