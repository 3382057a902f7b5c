-- +goose Up

-- A replay that fails waits for itself only, and not for ever.
alter table hub.replays
    add column failures integer not null default 0,  -- of its last tries, in a row
    add column retry_at timestamptz;                 -- no try before this; null: at once
