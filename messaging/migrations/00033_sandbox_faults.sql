-- Faults of the simulated network.
-- +goose Up
create table messaging.sandbox_faults (
    id                int     primary key default 1 check (id = 1),
    latency_ms        int     not null default 0 check (latency_ms between 0 and 10000),
    drop_percent      int     not null default 0 check (drop_percent between 0 and 100),
    duplicate_percent int     not null default 0 check (duplicate_percent between 0 and 100),
    reorder           boolean not null default false,
    lid               boolean not null default false
);
alter table messaging.sandbox_messages
    add column is_waiting boolean not null default false, -- for a connection that is offline, or for the message behind it
    add column is_lost    boolean not null default false;
create index sandbox_messages_waiting on messaging.sandbox_messages (recipient, seq) where is_waiting;
