-- +goose Up
-- Erasures of persons: one row for each event that says a person was deleted, written
-- in the event's own transaction. Who is meant stands in the event and nowhere else;
-- what stays here in the end are counts.
create table hub.erasures (
    seq          uuid        primary key,                                     -- of the event in the log
    tenant_id    uuid        not null,
    environment  text        not null,
    requested_at timestamptz not null default now(),
    due_at       timestamptz not null default now() + interval '2 seconds',   -- of the next step; until the first one every process hears of it
    started_at   timestamptz,                                                 -- what was accepted before this is looked at
    upto         uuid,                                                        -- no event beyond this is looked at
    cursor       uuid,                                                        -- events up to here have been looked at
    held         uuid[]      not null default '{}',                           -- erased events of which a process has deliveries in hand
    erased_at    timestamptz,                                                 -- nothing is left but the event itself
    finished_at  timestamptz,                                                 -- nor that: all have it who will get it
    events       integer     not null default 0,                              -- payloads erased
    failed       integer     not null default 0                               -- deliveries that waited and will not be sent
);
create index erasures_open on hub.erasures (due_at) where finished_at is null;
