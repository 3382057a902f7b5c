-- A person's deletion goes first: its deliveries are held until what waits about the person
-- at their receivers has failed, and attempts under way have ended.
-- +goose Up
-- Erasures that are there have none that is held.
alter table hub.erasures
    add column screened_at     timestamptz default now(), -- what waited about the person has failed
    add column hold_ended_at   timestamptz default now(), -- the deletion event is due at all receivers
    add column screening_since timestamptz;               -- when a process began to look for what waits
alter table hub.erasures alter column screened_at drop default, alter column hold_ended_at drop default;
create index erasures_held on hub.erasures (tenant_id, environment, requested_at) where hold_ended_at is null and not whole_tenant;

-- When a delivery of a deletion event becomes due that was behind others of its ordering key:
-- at once, unless it is held still. The hour is that of package erasure.
-- +goose StatementBegin
create function hub.deletion_due_at(delivery uuid) returns timestamptz language sql stable as $$
    select coalesce((
        select greatest(now(), e.requested_at + interval '1 hour') from hub.erasures e
        where e.seq = (overlay(delivery::text placing '0000' from 33))::uuid and e.hold_ended_at is null and e.finished_at is null), now())
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function hub.free_place() returns trigger language plpgsql as $$
declare
    current uuid;
    following uuid;
    day text;
    its_priority smallint;
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
        execute format('update hub.%I set due_at = case when event_type = ''patient.deleted'' then hub.deletion_due_at(id) else now() end, round_at = now()
            where id = $1 and status + 0 = 0 returning priority', day) into its_priority using following;
        perform pg_notify('hub_due', new.target_id::text || case its_priority when -1 then ' high' when 1 then ' bulk' else '' end);
    end if;
    return null;
end $$;
-- +goose StatementEnd
