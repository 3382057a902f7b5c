-- Filters of endpoints: a CEL expression over the event. The events that one could not be
-- evaluated for are counted beside the endpoint, whose change would empty caches.
-- +goose Up
alter table hub.endpoints add column filter text check (octet_length(filter) between 1 and 2048); -- null: none

create table hub.filter_errors (
    endpoint_id uuid        not null primary key references hub.endpoints (id),
    count       bigint      not null check (count > 0), -- since the filter was set
    last_error  text        not null,
    last_at     timestamptz not null
) with (fillfactor = 50);

-- What the filter before could not be evaluated for says nothing of the present one.
-- +goose StatementBegin
create function hub.forget_filter_errors() returns trigger language plpgsql as $$
begin
    delete from hub.filter_errors where endpoint_id = new.id;
    return null;
end $$;
-- +goose StatementEnd
create trigger forget_filter_errors after update of filter, deleted_at on hub.endpoints for each row
    when (new.filter is distinct from old.filter or new.deleted_at is not null) execute function hub.forget_filter_errors();

-- Which settings a change was about, by name.
alter table hub.audit add column changed text[];
