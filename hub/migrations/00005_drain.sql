-- How parked deliveries of integrations get out of the park again.
-- +goose Up
alter table hub.integrations
    add column draining_since timestamptz, -- what was parked before goes out, oldest first
    add column trial_at       timestamptz, -- something is parked though the peer is well: when one delivery is tried
    add column trial_id       uuid;        -- the delivery that is being tried
create index integrations_parked on hub.integrations (id) where draining_since is not null or trial_at is not null;

-- A peer that is well again gets what waited, whoever found out.
-- +goose StatementBegin
create function hub.drain_integration() returns trigger language plpgsql as $$
begin
    new.draining_since := now();
    new.trial_at := null;
    new.trial_id := null;
    return new;
end $$;
-- +goose StatementEnd
create trigger drain before update of status on hub.integrations
    for each row when (new.status = 'active' and old.status <> 'active') execute function hub.drain_integration();
