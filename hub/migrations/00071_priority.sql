-- Deliveries of one receiver go by priority, then by age. Keys of links within this hub have
-- a rate of their own.
-- +goose Up

-- -1 high, 0 normal, 1 bulk. Statements name the columns only where it is not 0. The rows
-- there are have the default: the constraints need not look at them.
alter table hub.events add column priority smallint not null default 0;
alter table hub.events add constraint events_priority check (priority between -1 and 1) not valid;
alter table hub.deliveries add column priority smallint not null default 0;
alter table hub.deliveries add constraint deliveries_priority check (priority between -1 and 1) not valid;

-- What comes before was looked at: a drain goes by priority, then by id.
alter table hub.drains add column cursor_priority smallint not null default 0;

-- +goose StatementBegin
create or replace function hub.unfold_leases(ids uuid[]) returns bigint language sql as $$
    with locked as ( -- in one order, so that nobody waits in a circle
        select id from hub.leases where id = any(ids) order by id for update),
    taken as (
        delete from hub.leases l using locked k where l.id = k.id returning l.id),
    stored as (
        insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id,
            integration, created_at, round_at, due_at, priority)
        select p.id, e.id, e.tenant_id, p.target_id, e.environment, e.product, e.event_type, e.correlation_id,
            p.integration, e.created_at, e.created_at, greatest(p.due_at, now()), e.priority
        from taken t join hub.promised p on p.lease_id = t.id
        join hub.events e on e.seq = (overlay(p.id::text placing '0000' from 33))::uuid
        order by p.id
        on conflict (id) do nothing
        returning 1)
    select count(*) from stored
$$;
-- +goose StatementEnd

-- Issued by the hub for a link of two of its accounts: HUB_LINK_RATE is its rate.
alter table hub.keys add column link boolean not null default false;
-- The peer's key is such a key: HUB_LINK_RATE is the pace.
alter table hub.integrations add column link boolean not null default false;
