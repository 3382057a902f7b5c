-- +goose Up
-- The ids of refused webhooks, as their peers chose them: by these the log finds them.
-- They are not in hub.received: a webhook that was refused may come again.
create table hub.refused (
    seq        uuid        not null primary key, -- of the event in the log
    event_id   bigint      not null,
    created_at timestamptz not null default now()
);
create index refused_event on hub.refused (event_id);
create index refused_age on hub.refused using brin (created_at);

-- +goose Down
drop table hub.refused;
