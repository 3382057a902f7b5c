-- Parked deliveries of endpoints and integrations drain by themselves, and what is switched
-- off collects.
-- +goose Up

-- When a delivery was parked for the first time since it was last delivered or failed. Null:
-- never, or before this column; then finished_at counts.
alter table hub.deliveries add column parked_at timestamptz;

-- A row for each target that has, or may have, parked deliveries. Whoever parks inserts it;
-- the drainer deletes it when nothing is left. All decide under the lock of the row.
create table hub.drains (
    target_id    uuid        primary key, -- an endpoint or an integration
    integration  boolean     not null,    -- what target_id names
    state        text        not null check (state in (
        'waiting',    -- for the next trial
        'trying',     -- trial_id is being tried
        'draining',   -- what was parked before since goes out
        'held',       -- the target is not in use; its return wakes the row
        'settling',   -- nothing was left; looked at again before the row goes
        'ending')),   -- the target was deleted: what waits fails
    due_at       timestamptz,             -- when the drainer works on it next; null: held
    trials       integer     not null default 0, -- that failed in a row; while settling: looks
    trial_id     uuid,
    suspect_id   uuid,                    -- its trials failed while another's succeeded: it goes last
    since        timestamptz not null default now(),
    in_flight    integer     not null default 1,    -- how many may be pending at once
    sent         uuid[]      not null default '{}', -- made pending and not settled when last seen
    requeued_at  timestamptz,
    delivered_at timestamptz,             -- when one of these was last seen delivered
    parked       integer     not null default 0,    -- of these, in a row
    cursor       uuid                     -- what comes before was looked at
) with (fillfactor = 50);
create index drains_due on hub.drains (due_at) where due_at is not null;

-- Begins a drain: the target is in use again.
-- +goose StatementBegin
create function hub.begin_drain(target uuid, is_integration boolean) returns void language sql as $$
    insert into hub.drains (target_id, integration, state, due_at, since)
    values (target, is_integration, 'draining', clock_timestamp(), clock_timestamp())
    on conflict (target_id) do update set state = 'draining', due_at = excluded.due_at, since = excluded.since, trials = 0, trial_id = null,
        suspect_id = null, in_flight = 1, sent = '{}', requeued_at = null, delivered_at = null, parked = 0, cursor = null
    where drains.state <> 'ending'
$$;
-- +goose StatementEnd

-- Endpoints: since when they are disabled, and when they stopped to collect.
alter table hub.endpoints
    add column disabled_at  timestamptz,
    add column abandoned_at timestamptz; -- disabled for so long that events make no deliveries any more
update hub.endpoints set disabled_at = updated_at,
    abandoned_at = case when updated_at < now() - interval '15 days' then now() end
where not enabled and deleted_at is null;

-- +goose StatementBegin
create function hub.note_disabled() returns trigger language plpgsql as $$
begin
    if new.enabled then
        new.disabled_at := null;
        new.abandoned_at := null;
    elsif tg_op = 'INSERT' or old.enabled then
        new.disabled_at := now();
    end if;
    return new;
end $$;
-- +goose StatementEnd
create trigger note_disabled before insert or update of enabled on hub.endpoints
    for each row execute function hub.note_disabled();

-- +goose StatementBegin
create function hub.drain_endpoint() returns trigger language plpgsql as $$
begin
    if new.deleted_at is not null then
        insert into hub.drains (target_id, integration, state, due_at) values (new.id, false, 'ending', clock_timestamp())
        on conflict (target_id) do update set state = 'ending', due_at = excluded.due_at;
    else
        perform hub.begin_drain(new.id, false);
    end if;
    return null;
end $$;
-- +goose StatementEnd
create trigger drain after update of enabled, deleted_at on hub.endpoints for each row
    when (new.deleted_at is not null and old.deleted_at is null or new.enabled and not old.enabled and new.deleted_at is null)
    execute function hub.drain_endpoint();

-- Integrations: the same. The columns draining_since, trial_at and trial_id are those of
-- earlier versions, whose processes may still run: what they note there counts here.
alter table hub.integrations
    add column inactive_at  timestamptz,
    add column abandoned_at timestamptz; -- inactive for so long that only deletions are kept for it
update hub.integrations set inactive_at = updated_at,
    abandoned_at = case when updated_at < now() - interval '15 days' then now() end
where status = 'inactive';
create trigger config_changed_abandoned after update of abandoned_at on hub.integrations for each row
    when (new.abandoned_at is distinct from old.abandoned_at) execute function hub.record_config_change();

-- +goose StatementBegin
create function hub.note_inactive() returns trigger language plpgsql as $$
begin
    if new.status <> 'inactive' then
        new.inactive_at := null;
        new.abandoned_at := null;
    elsif tg_op = 'INSERT' or old.status <> 'inactive' then
        new.inactive_at := now();
    end if;
    return new;
end $$;
-- +goose StatementEnd
create trigger note_inactive before insert or update of status on hub.integrations
    for each row execute function hub.note_inactive();

drop trigger drain on hub.integrations;
-- +goose StatementBegin
create or replace function hub.drain_integration() returns trigger language plpgsql as $$
begin
    if new.status = 'active' and (old.status <> 'active' or new.draining_since is not null) then
        perform hub.begin_drain(new.id, true);
    elsif new.trial_at is not null then
        insert into hub.drains (target_id, integration, state, due_at) values (new.id, true, 'waiting', new.trial_at)
        on conflict (target_id) do update set state = 'waiting', due_at = excluded.due_at where drains.state in ('settling', 'waiting');
    end if;
    return null;
end $$;
-- +goose StatementEnd
create trigger drain after update of status, draining_since, trial_at on hub.integrations for each row
    when (new.status = 'active' and old.status <> 'active'
        or new.draining_since is distinct from old.draining_since and new.draining_since is not null
        or new.trial_at is distinct from old.trial_at and new.trial_at is not null)
    execute function hub.drain_integration();

-- What is parked now.
insert into hub.drains (target_id, integration, state, due_at)
select distinct on (target_id) target_id, integration, 'waiting', now() + random() * interval '30 seconds'
from hub.deliveries where status = 2 and not inbound;
