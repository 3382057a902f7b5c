-- A delivery whose first attempt failed gets its row when its retry is settled, about a second
-- later: until then the lease of its commit goes on standing for it, and hub.attempts says what
-- the attempt came to. Three versions of a row with six index entries each become one.
-- +goose Up
alter table hub.leases add column has_attempts boolean not null default false; -- some of its deliveries were attempted and have no row yet
-- Of first attempts whose deliveries had no row; null otherwise.
alter table hub.attempts
    add column counted_attempts smallint,     -- attempts of this round that count against its four
    add column next_attempt_at  timestamptz;  -- when the retry is due

-- Deletes the leases whose deliveries are all settled, and marks those of which a delivery was
-- attempted and gets no row yet. Another may have stored the rows of those meanwhile.
-- +goose StatementBegin
create function hub.settle_leases(settled uuid[], attempted uuid[]) returns void language plpgsql as $$
begin
    -- Together and in one order, as hub.unfold_leases has it: nobody waits in a circle.
    perform from hub.leases where id = any(settled || attempted) order by id for update;
    delete from hub.leases where id = any(settled);
    if cardinality(attempted) > 0 then
        update hub.leases set has_attempts = true where id = any(attempted) and not has_attempts;
        if (select count(*) from hub.leases where id = any(attempted)) < cardinality(attempted) then
            raise unique_violation using message = 'the deliveries of a lease have rows already';
        end if;
    end if;
end $$;
-- +goose StatementEnd

-- Deliveries that were attempted get the state in which the attempt left them. A retry that is
-- not due yet waits for whoever claims the row first. One that is due is under way: the process
-- that holds the lease looks for it before, by the same lock.
-- +goose StatementBegin
create or replace function hub.unfold_leases(ids uuid[]) returns bigint language plpgsql as $$
declare
    stored_count bigint;
    attempted    uuid[];
    locked_at    timestamptz;
    day          text;
begin
    with locked as ( -- in one order, so that nobody waits in a circle
        select id from hub.leases where id = any(ids) order by id for update),
    taken as (
        delete from hub.leases l using locked k where l.id = k.id returning l.id, l.has_attempts),
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
    select (select count(*) from stored), (select array_agg(p.id) from taken t join hub.promised p on p.lease_id = t.id where t.has_attempts)
    into stored_count, attempted;
    if attempted is null then
        return stored_count;
    end if;
    locked_at := clock_timestamp();
    -- By the names of the days' tables: the parents would open all days.
    for day in select distinct to_char(hub.day_of(id), 'YYYYMMDD') from unnest(attempted) id loop
        execute format('
            update hub.deliveries_p%1$s d set
                attempts = a.number, spent = a.counted_attempts, status_code = a.status_code, duration_ms = a.total_us / 1000,
                next_attempt_at = case when a.next_attempt_at > $2 then a.next_attempt_at end,
                due_at = case when a.next_attempt_at > $2 then a.next_attempt_at + interval ''2 seconds'' else d.due_at end
            from unnest($1) p(id)
            join hub.attempts_p%1$s a on a.delivery_id = p.id and a.next_attempt_at is not null
            where d.id = p.id and d.status + 0 = 0 and d.attempts = 0', day)
        using attempted, locked_at;
    end loop;
    return stored_count;
end $$;
-- +goose StatementEnd
