-- +goose NO TRANSACTION
-- The audit log by month, so that its retention drops tables. A full log is not rewritten:
-- a constraint that is validated while entries are written proves that what there is ends
-- before a month; then the table becomes the first partition. Entries of before are kept
-- until that whole partition is too old. Each statement may run again after an interruption.
-- What changes hub.audit itself is executed as text, which sqlc does not read: to it the
-- table stays as it is.
-- +goose Up
-- Above 1 where entries of strangers are counted by minute instead of written one by one.
alter table hub.audit add column if not exists count integer not null default 1;

-- The boundary is a month away at least: entries are written until the table is attached.
-- +goose StatementBegin
do $$
declare
    newest timestamptz := (select to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) from hub.audit order by id desc limit 1);
begin
    if not exists (select from pg_constraint where conrelid = 'hub.audit'::regclass and conname = 'audit_count') then
        execute format('alter table hub.audit add constraint audit_count check (count > 0) not valid, add constraint audit_boundary check (id < %L) not valid',
            hub.day_floor((date_trunc('month', greatest(newest, now()) at time zone 'UTC') + interval '2 months')::date));
    end if;
end $$;
-- +goose StatementEnd

-- This reads the whole table, while others read and write it.
-- +goose StatementBegin
do $$
begin
    if (select relkind from pg_class where oid = 'hub.audit'::regclass) = 'r' then
        execute 'alter table hub.audit validate constraint audit_count, validate constraint audit_boundary';
    end if;
end $$;
-- +goose StatementEnd

-- Only the count of an entry may change, and only grow. A partition has the trigger of
-- updates and deletions from the table it belongs to.
-- +goose StatementBegin
create or replace function hub.refuse_audit_change() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' and new.count > old.count then
        old.count := new.count;
        if new is not distinct from old then
            return new;
        end if;
    end if;
    raise exception 'audit is append-only' using errcode = 'HB002';
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
do $$
declare
    boundary text;
begin
    if (select relkind from pg_class where oid = 'hub.audit'::regclass) = 'p' then
        return;
    end if;
    lock table hub.audit in access exclusive mode;
    select substring(pg_get_constraintdef(oid) from '''([0-9a-f-]+)''') into strict boundary
    from pg_constraint where conrelid = 'hub.audit'::regclass and conname = 'audit_boundary';
    execute 'alter table hub.audit rename to audit_first';
    execute 'alter index hub.audit_pkey rename to audit_first_pkey';
    execute 'alter index hub.audit_tenant rename to audit_first_tenant';
    execute 'alter index hub.audit_actor rename to audit_first_actor';
    execute 'alter index hub.audit_action rename to audit_first_action';
    execute 'alter index hub.audit_subject rename to audit_first_subject';
    execute 'drop trigger append_only on hub.audit_first';
    execute 'create table hub.audit (like hub.audit_first including defaults including constraints) partition by range (id)';
    execute 'alter table hub.audit drop constraint audit_boundary, add primary key (id)';
    execute 'create index audit_tenant on hub.audit (tenant_id, id) where tenant_id is not null';
    execute 'create index audit_actor on hub.audit (actor_id, id) where actor_id is not null';
    execute 'create index audit_action on hub.audit (action, id)';
    execute 'create index audit_subject on hub.audit (tenant_id, subject_id, id) where subject_id is not null';
    execute format('alter table hub.audit attach partition hub.audit_first for values from (minvalue) to (%L)', boundary);
    execute 'alter table hub.audit_first drop constraint audit_boundary';
    execute 'create trigger append_only before update or delete on hub.audit for each row execute function hub.refuse_audit_change()';
    execute 'create trigger append_only_whole before truncate on hub.audit for each statement execute function hub.refuse_audit_change()';
end $$;
-- +goose StatementEnd

-- Returns the partitions with their bounds: the first id, null for the partition of what
-- was there before, and the id after the last.
-- +goose StatementBegin
create or replace function hub.audit_partitions() returns table (name text, first_id uuid, end_id uuid) language sql stable as $$
    select c.relname::text, substring(bound from 'FROM \(''([0-9a-f-]+)''\)')::uuid, substring(bound from 'TO \(''([0-9a-f-]+)''\)')::uuid
    from pg_inherits i join pg_class c on c.oid = i.inhrelid, pg_get_expr(c.relpartbound, c.oid) bound
    where i.inhparent = 'hub.audit'::regclass
$$;
-- +goose StatementEnd

-- Makes the partitions of a span of months where they are missing, beginning with the month
-- of a day. Attaching takes a lock that lets reads and writes go on.
-- +goose StatementBegin
create or replace function hub.ensure_audit_partitions(first date, months integer) returns integer language plpgsql as $$
declare
    month    date;
    next     date;
    child    text;
    made     integer := 0;
begin
    perform pg_advisory_xact_lock(hashtext('hub.ensure_audit_partitions'));
    for n in 0 .. months - 1 loop
        month := date_trunc('month', first::timestamp) + n * interval '1 month';
        next := month + interval '1 month';
        if not exists (select from hub.audit_partitions() p
                where p.end_id > hub.day_floor(month) and (p.first_id is null or p.first_id <= hub.day_floor(month))) then
            child := 'audit_p' || to_char(month, 'YYYYMM');
            execute format('create table hub.%I (like hub.audit including all)', child);
            execute format('create trigger append_only_whole before truncate on hub.%I for each statement execute function hub.refuse_audit_change()', child);
            execute format('alter table hub.audit attach partition hub.%I for values from (%L) to (%L)', child, hub.day_floor(month), hub.day_floor(next));
            made := made + 1;
        end if;
    end loop;
    return made;
end $$;
-- +goose StatementEnd
select hub.ensure_audit_partitions((now() at time zone 'UTC')::date, 7);
