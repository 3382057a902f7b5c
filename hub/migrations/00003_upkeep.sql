-- +goose Up

-- A replay that fails waits for itself only, and not for ever.
alter table hub.replays
    add column failures integer not null default 0,  -- of its last tries, in a row
    add column retry_at timestamptz;                 -- no try before this; null: at once

-- Statistics as they are asked for: of everything, of a tenant or of one target, by
-- minutes and by half hours. A question over any time, however many targets there
-- are, reads one row for each bucket and product.
create table hub.statistics (
    width     smallint    not null, -- of the bucket, minutes: 1 or 30
    scope     smallint    not null, -- 0 everything, 1 a tenant, 2 a target
    scope_id  uuid        not null, -- of the tenant or target; of everything: all zeros
    bucket    timestamptz not null,
    product   text        not null, -- of everything also '': all products
    tenant_id uuid        not null, -- of a target: whose it is; else all zeros
    accepted  bigint      not null,
    delivered bigint      not null,
    failed    bigint      not null,
    parked    bigint      not null,
    attempts  bigint      not null,
    errors    bigint      not null,
    latency   integer[]   not null, -- counts by latency class of delivered attempts
    primary key (width, scope, scope_id, bucket, product)
) with (fillfactor = 70); -- rows grow in place while their time lasts
create index statistics_age on hub.statistics (width, bucket);

-- What was counted so far, of targets by minutes, counted up.
with widened as (
    select w.width, s.scope, s.scope_id, date_bin(w.width * interval '1 minute', r.bucket, '2000-01-01 00:00:00+00') as bucket, s.product, s.tenant_id,
           r.accepted, r.delivered, r.failed, r.parked, r.attempts, r.errors, r.latency
    from hub.rollups r, (values (1::smallint), (30)) w(width),
         lateral (values (0::smallint, uuid '00000000-0000-0000-0000-000000000000', '', uuid '00000000-0000-0000-0000-000000000000'),
                         (0, '00000000-0000-0000-0000-000000000000', r.product, '00000000-0000-0000-0000-000000000000'),
                         (1, r.tenant_id, r.product, '00000000-0000-0000-0000-000000000000'),
                         (2, r.target_id, r.product, r.tenant_id)) s(scope, scope_id, product, tenant_id)),
latencies as (
    select width, scope, scope_id, bucket, product, array_agg(n::integer order by i) as latency
    from (select width, scope, scope_id, bucket, product, i, sum(v) as n
          from widened, unnest(latency) with ordinality u(v, i) group by 1, 2, 3, 4, 5, 6) classes
    group by 1, 2, 3, 4, 5),
counts as (
    select width, scope, scope_id, bucket, product, tenant_id, sum(accepted) as accepted, sum(delivered) as delivered, sum(failed) as failed,
           sum(parked) as parked, sum(attempts) as attempts, sum(errors) as errors
    from widened group by 1, 2, 3, 4, 5, 6)
insert into hub.statistics (width, scope, scope_id, bucket, product, tenant_id, accepted, delivered, failed, parked, attempts, errors, latency)
select width, scope, scope_id, bucket, product, tenant_id, accepted, delivered, failed, parked, attempts, errors, coalesce(latency, '{}')
from counts left join latencies using (width, scope, scope_id, bucket, product);
drop table hub.rollups;

-- When an attempt was stored: the live tail finds by it what a listener missed,
-- whichever day the delivery is of. All rows of a commit share the moment and moments
-- only grow, so the index costs little.
alter table hub.attempts add column stored_at timestamptz not null default now();
create index attempts_stored on hub.attempts (stored_at);

-- The hub's own deliveries, pings, are few and go to everybody's endpoints.
create index deliveries_hub on hub.deliveries (id) where product = 'hub';
