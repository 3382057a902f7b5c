-- The log: events, their deliveries and attempts, partitioned by day. The
-- partition key is a UUIDv7, so a day is a range of ids and an id names its day.
--   event seq      = UUIDv7 with its last two bytes zero
--   delivery id    = its event's seq with the last two bytes = ordinal (1…65535)
-- +goose Up
create table hub.events (
    seq            uuid        not null primary key,
    id             bigint      not null, -- the 64 bits behind "evt_"; see hub/internal/logid
    tenant_id      uuid        not null,
    environment    text        not null,
    product        text        not null,
    event_type     text        not null,
    correlation_id text,
    deliveries     integer     not null,
    created_at     timestamptz not null default now(),
    body           bytea       not null  -- the envelope exactly as it is signed and sent
) partition by range (seq);
-- An id that the hub chose names its moment and so finds its event by seq; one that
-- the publisher chose is found in hub.idempotency. Each generator of ids has a number.
create sequence hub.event_nodes;

-- Ids and idempotency keys that clients chose, kept 45 days.
create table hub.idempotency (
    tenant_id   uuid        not null,
    environment text        not null,
    key         text        not null, -- "evt_…", or "key:" and an Idempotency-Key
    body_hash   bytea       not null,
    seq         uuid        not null,
    event_id    bigint      not null,
    deliveries  integer     not null,
    created_at  timestamptz not null default now(),
    primary key (tenant_id, environment, key)
);
create index idempotency_event on hub.idempotency (event_id);
create index idempotency_age on hub.idempotency using brin (created_at);

create table hub.deliveries (
    id              uuid        not null primary key,
    event_id        bigint      not null,
    tenant_id       uuid        not null,
    target_id       uuid        not null, -- an endpoint or an integration
    environment     text        not null,
    product         text        not null,
    event_type      text        not null,
    correlation_id  text,
    inbound         boolean     not null default false,
    integration     boolean     not null default false, -- what target_id names
    status          smallint    not null default 0,     -- 0 pending 1 delivered 2 parked 3 failed
    attempts        integer     not null default 0,     -- attempts made, ever
    spent           smallint    not null default 0,     -- attempts of this round that count against its four
    status_code     smallint,
    duration_ms     integer,
    reason          text,                               -- why parked or failed
    created_at      timestamptz not null default now(),
    round_at        timestamptz default now(),          -- when this round of attempts began
    due_at          timestamptz default now(),          -- pending: when a sweep may take the row
    next_attempt_at timestamptz,
    finished_at     timestamptz,
    -- The first attempt, where it delivered at once: nearly all do, and a row of its
    -- own would cost as much as everything else. The columns are those of attempts.
    started_at       timestamptz,
    queue_us         bigint,
    dns_us           integer,
    connect_us       integer,
    tls_us           integer,
    first_byte_us    integer,
    total_us         integer,
    signature        bytea,
    response_headers bytea,
    response_body    bytea,
    check (status <> 0 or due_at is not null and round_at is not null)
) partition by range (id);
-- What waits, by target: dispatch takes from each target its share.
create index deliveries_due on hub.deliveries (target_id, due_at) where status = 0;
-- The filters of the log. Every index costs on every delivery, so there are as few
-- as answer each filter quickly: a tenant or a product is read by its targets, and
-- values that most rows share (delivered, outbound, 200) by the primary key. Rows
-- enter when they are settled, once: most deliveries get their row then.
-- The last columns of deliveries_target let a filter be held against the index; they
-- fit into the room its entries have anyway.
create index deliveries_target on hub.deliveries (target_id, status, id, status_code, integration) where status <> 0;
-- Without a condition: of a rare type the few that wait are found in any backlog.
-- PostgreSQL intersects two indexes only where their conditions differ.
create index deliveries_type on hub.deliveries (event_type, status, id);
create index deliveries_code on hub.deliveries (status_code, id) where status_code <> 200;
-- What waits, newest first: a backlog may lie anywhere in a day, and then neither
-- the primary key nor deliveries_due finds a page of it quickly. It costs about
-- 0.7 µs per delivery, the ids being inserted in order.
create index deliveries_pending on hub.deliveries (id) where status = 0;
-- Few rows are ever in these two: there is room for what they are asked along with.
create index deliveries_parked on hub.deliveries (id, product, status_code) where status = 2;
create index deliveries_failed on hub.deliveries (id, product, status_code) where status = 3;
create index deliveries_inbound on hub.deliveries (id) where inbound;
create index deliveries_correlation on hub.deliveries (correlation_id, id) where correlation_id is not null;

-- Deliveries that the process which accepted them took on at once: the row of their
-- commit stands for all of them. Each gets a row in deliveries when it is settled,
-- or when it has waited a while; those of a process that died, when the lease ends.
create table hub.leases (
    id         uuid        not null primary key, -- UUIDv7
    due_at     timestamptz not null default now() + interval '30 seconds',
    deliveries bytea       not null -- 33 bytes each: delivery id, target id, 1 where the target is an integration
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);
alter table hub.leases alter column deliveries set storage external; -- ids do not compress

-- Every attempt but those that deliveries keep in their own row.
create table hub.attempts (
    delivery_id      uuid        not null,
    started_at       timestamptz not null,
    number           integer     not null,
    queue_us         bigint      not null, -- due → started
    dns_us           integer     not null,
    connect_us       integer     not null,
    tls_us           integer     not null,
    first_byte_us    integer     not null, -- request written → first byte of the answer
    total_us         integer     not null,
    status_code      smallint,             -- null: no answer
    error            text,
    signature        bytea       not null, -- the HMAC sent as X-Webhook-Signature
    response_headers bytea,
    response_body    bytea,
    primary key (delivery_id, number, started_at)
) partition by range (delivery_id);

-- Minute rollups. Deltas are inserted with the change they count, in its
-- transaction, and folded into rollups in the background: no writer ever waits
-- for another's row.
create table hub.rollup_deltas (
    bucket    timestamptz not null,
    tenant_id uuid        not null,
    target_id uuid        not null,
    product   text        not null,
    accepted  integer     not null default 0,
    delivered integer     not null default 0,
    failed    integer     not null default 0,
    parked    integer     not null default 0,
    attempts  integer     not null default 0,
    errors    integer     not null default 0,
    latency   integer[]              -- counts by latency class of delivered attempts
);

create table hub.rollups (
    bucket    timestamptz not null,
    tenant_id uuid        not null,
    target_id uuid        not null,
    product   text        not null,
    accepted  bigint      not null,
    delivered bigint      not null,
    failed    bigint      not null,
    parked    bigint      not null,
    attempts  bigint      not null,
    errors    bigint      not null,
    latency   integer[]   not null,
    primary key (bucket, tenant_id, target_id, product)
);
create index rollups_tenant on hub.rollups (tenant_id, bucket);

-- A replay: a durable job that puts every matching delivery back to pending.
create table hub.replays (
    id           uuid        primary key,
    filter       jsonb       not null,
    status       text        not null check (status in ('running', 'done', 'cancelled', 'failed')),
    total        bigint      not null,
    done         bigint      not null default 0,
    failed       bigint      not null default 0,
    cursor       uuid,                    -- last delivery handled
    upto         uuid        not null,    -- newest delivery that belongs to the job
    error        text,
    created_by   text        not null,
    created_at   timestamptz not null default now(),
    finished_at  timestamptz
);
create index replays_running on hub.replays (id) where status = 'running';

-- The deliveries that leases stand for. Of some a row may be there already.
create view hub.promised as
    select l.id as lease_id, l.due_at,
           encode(substr(l.deliveries, 1 + 33 * n, 16), 'hex')::uuid as id,
           encode(substr(l.deliveries, 17 + 33 * n, 16), 'hex')::uuid as target_id,
           get_byte(l.deliveries, 32 + 33 * n) = 1 as integration
    from hub.leases l, generate_series(0, length(l.deliveries) / 33 - 1) n;

-- Gives the deliveries of leases rows of their own, pending until the lease ends for
-- those that have none yet. The process that holds the lease keeps it.
-- +goose StatementBegin
create function hub.unfold_leases(ids uuid[]) returns bigint language sql as $$
    with locked as ( -- in one order, so that nobody waits in a circle
        select id from hub.leases where id = any(ids) order by id for update),
    taken as (
        delete from hub.leases l using locked k where l.id = k.id returning l.id),
    stored as (
        insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id,
            integration, created_at, round_at, due_at)
        select p.id, e.id, e.tenant_id, p.target_id, e.environment, e.product, e.event_type, e.correlation_id,
            p.integration, e.created_at, e.created_at, p.due_at
        from taken t join hub.promised p on p.lease_id = t.id
        join hub.events e on e.seq = (overlay(p.id::text placing '0000' from 33))::uuid
        on conflict (id) do nothing
        returning 1)
    select count(*) from stored
$$;
-- +goose StatementEnd

-- The smallest UUIDv7 of a day (UTC).
-- +goose StatementBegin
create function hub.day_floor(day date) returns uuid language sql immutable as $$
    select (lpad(to_hex((extract(epoch from day::timestamp at time zone 'UTC') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
-- +goose StatementEnd

-- Makes the partitions of a span of days where they are missing. Attaching takes
-- a lock that lets reads and writes go on.
-- +goose StatementBegin
create function hub.ensure_partitions(first date, days integer) returns integer language plpgsql as $$
declare
    parent text;
    child  text;
    day    date;
    made   integer := 0;
begin
    perform pg_advisory_xact_lock(hashtext('hub.ensure_partitions'));
    for day in select first + n from generate_series(0, days - 1) n loop
        foreach parent in array array['events', 'deliveries', 'attempts'] loop
            child := parent || '_p' || to_char(day, 'YYYYMMDD');
            if to_regclass('hub.' || child) is null then
                execute format('create table hub.%I (like hub.%I including all)', child, parent);
                execute format('alter table hub.%I attach partition hub.%I for values from (%L) to (%L)',
                    parent, child, hub.day_floor(day), hub.day_floor(day + 1));
                made := made + 1;
            end if;
        end loop;
    end loop;
    return made;
end $$;
-- +goose StatementEnd
select hub.ensure_partitions((now() at time zone 'UTC')::date - 1, 9);
