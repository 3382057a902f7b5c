-- Order: a receiver with the switch gets the events of one ordering key one at a time, in
-- the order of their commits. hub/internal/outbox/order.go takes the places.
-- +goose Up
alter table hub.events add column ordering_key text; -- null: none
alter table hub.deliveries
    add column ordering_key text, -- of a delivery with a place in the order of its target; null: it has none
    add column out_of_order boolean not null default false; -- was sent again after those behind it
alter table hub.endpoints add column ordered boolean not null default false;

-- The keys of ordered targets that are in use. The row's lock makes commits and settlements
-- of one key wait for each other.
create table hub.ordering_keys (
    target_id uuid        not null,
    key       text        collate "C" not null check (octet_length(key) between 1 and 200),
    accepted  bigint      not null, -- deliveries that took a place, ever
    waiting   integer     not null check (waiting >= 0), -- of them those not settled
    head      uuid,                 -- the delivery that is sent next; null: none waits
    used_at   timestamptz not null default now(),
    primary key (target_id, key),
    check ((head is null) = (waiting = 0))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);

-- The deliveries behind the heads. They are pending, and due at infinity.
create table hub.ordering_queue (
    target_id   uuid   not null,
    key         text   collate "C" not null,
    place       bigint not null, -- ordering_keys.accepted when it was taken
    delivery_id uuid   not null,
    primary key (target_id, key, place)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);
create index ordering_queue_delivery on hub.ordering_queue (delivery_id);

-- The day (UTC) of a UUIDv7.
-- +goose StatementBegin
create function hub.day_of(id uuid) returns date language sql immutable as $$
    select (to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) at time zone 'UTC')::date
$$;
-- +goose StatementEnd

-- A delivery with a place in an order was settled. The next one of its key is due now.
-- +goose StatementBegin
create function hub.free_place() returns trigger language plpgsql as $$
declare
    current uuid;
    following uuid;
    day text;
    freed integer := 0;
begin
    update hub.ordering_keys set waiting = 0, head = null, used_at = now()
    where target_id = new.target_id and key = new.ordering_key and head = new.id and waiting = 1;
    if found then
        return null; -- as nearly always: nothing waited behind it
    end if;
    select head into current from hub.ordering_keys
    where target_id = new.target_id and key = new.ordering_key for update;
    if current is distinct from new.id then
        delete from hub.ordering_queue where delivery_id = new.id;
        if found then
            update hub.ordering_keys set waiting = waiting - 1 where target_id = new.target_id and key = new.ordering_key;
        end if;
        return null;
    end if;
    loop
        delete from hub.ordering_queue q where (q.target_id, q.key, q.place) = (
            select n.target_id, n.key, n.place from hub.ordering_queue n
            where n.target_id = new.target_id and n.key = new.ordering_key order by n.place limit 1)
        returning q.delivery_id into following;
        freed := freed + 1;
        day := 'deliveries_p' || to_char(hub.day_of(following), 'YYYYMMDD');
        exit when following is null or to_regclass('hub.' || day) is not null; -- else its day was dropped
    end loop;
    update hub.ordering_keys set waiting = case when following is null then 0 else waiting - freed end, head = following, used_at = now()
    where target_id = new.target_id and key = new.ordering_key;
    if following is not null then
        -- By the name of the day's table: the parent would lock all days. One that the same
        -- statement settled frees its place itself.
        execute format('update hub.%I set due_at = now(), round_at = now() where id = $1 and status + 0 = 0', day) using following;
        perform pg_notify('hub_due', new.target_id::text);
    end if;
    return null;
end $$;
-- +goose StatementEnd

create trigger free_place_inserted after insert on hub.deliveries for each row
    when (new.ordering_key is not null and new.status in (1, 3)) execute function hub.free_place();
create trigger free_place after update of status on hub.deliveries for each row
    when (new.ordering_key is not null and new.status in (1, 3) and old.status in (0, 2)) execute function hub.free_place();

-- Deliveries of a lease that were first in their order keep their place.
-- +goose StatementBegin
create or replace function hub.unfold_leases(ids uuid[]) returns bigint language sql as $$
    with locked as ( -- in one order, so that nobody waits in a circle
        select id from hub.leases where id = any(ids) order by id for update),
    taken as (
        delete from hub.leases l using locked k where l.id = k.id returning l.id),
    stored as (
        insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id,
            integration, created_at, round_at, due_at, priority, ordering_key)
        select p.id, e.id, e.tenant_id, p.target_id, e.environment, e.product, e.event_type, e.correlation_id,
            p.integration, e.created_at, e.created_at, greatest(p.due_at, now()), e.priority,
            case when e.ordering_key is not null then
                (select k.key from hub.ordering_keys k where k.target_id = p.target_id and k.key = e.ordering_key and k.head = p.id) end
        from taken t join hub.promised p on p.lease_id = t.id
        join hub.events e on e.seq = (overlay(p.id::text placing '0000' from 33))::uuid
        order by p.id
        on conflict (id) do nothing
        returning 1)
    select count(*) from stored
$$;
-- +goose StatementEnd
