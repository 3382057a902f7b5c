-- +goose Up
-- An event that its product could not take in stands in the log all the same: once,
-- however often the peer sends it. It counts as received when it succeeds.
alter table hub.received add column failed boolean not null default false;
-- By event first: the log looks events up without knowing their integration, and one
-- index costs less than two on every event received.
alter table hub.received drop constraint received_pkey, add primary key (event_id, integration_id);
drop index hub.received_event;

-- +goose Down
create index received_event on hub.received (event_id);
delete from hub.received where failed;
alter table hub.received drop constraint received_pkey, add primary key (integration_id, event_id);
alter table hub.received drop column failed;
