-- The sweep reads what came due since its last scan. Rows of leases that ended long ago
-- come due when they are stored, so that a scan finds them.
-- +goose Up
-- +goose StatementBegin
create or replace function hub.unfold_leases(ids uuid[]) returns bigint language sql as $$
    with locked as ( -- in one order, so that nobody waits in a circle
        select id from hub.leases where id = any(ids) order by id for update),
    taken as (
        delete from hub.leases l using locked k where l.id = k.id returning l.id),
    stored as (
        insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id,
            integration, created_at, round_at, due_at)
        select p.id, e.id, e.tenant_id, p.target_id, e.environment, e.product, e.event_type, e.correlation_id,
            p.integration, e.created_at, e.created_at, greatest(p.due_at, now())
        from taken t join hub.promised p on p.lease_id = t.id
        join hub.events e on e.seq = (overlay(p.id::text placing '0000' from 33))::uuid
        order by p.id
        on conflict (id) do nothing
        returning 1)
    select count(*) from stored
$$;
-- +goose StatementEnd
