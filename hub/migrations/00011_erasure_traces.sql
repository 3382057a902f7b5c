-- +goose Up
-- What the publisher of a deletion event knows of the person beside it: for the log, and
-- for nobody else. Gone when the payloads are erased.
create table hub.erasure_traces (
    tenant_id   uuid        not null,
    environment text        not null,
    event_id    bigint      not null, -- of the deletion event
    traces      bytea,                -- encrypted; null: not needed any more
    released_at timestamptz,          -- nobody waits for those who did not take the event
    created_at  timestamptz not null default now(),
    primary key (tenant_id, environment, event_id)
);
