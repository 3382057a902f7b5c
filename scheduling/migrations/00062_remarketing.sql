-- Clients who agreed to it are written to when they have not come for long.
-- +goose Up
alter table scheduling.clients
    add column marketing_consent_source text check (marketing_consent_source in ('staff', 'client'));
alter table scheduling.settings
    add column remarketing_period_days integer not null default 90 check (remarketing_period_days between 30 and 730),
    add column remarketing_message     text    check (char_length(remarketing_message) <= 2000); -- null: words of ours

create table scheduling.campaigns (
    org_id     uuid        not null references scheduling.organizations (id) on delete cascade,
    id         uuid        not null, -- UUIDv7
    message    text        not null default '', -- '': words of ours
    days       integer     not null check (days >= 1), -- for which who is written to has not come
    recipients integer     not null default 0,
    created_by uuid,
    created_at timestamptz not null default now(),
    done_at    timestamptz,
    primary key (org_id, id),
    foreign key (org_id, created_by) references scheduling.users (org_id, id) on delete set null (created_by)
);

-- Who is written to. What turned out not to be wanted any more is deleted.
create table scheduling.campaign_letters (
    org_id      uuid        not null,
    campaign_id uuid        not null,
    client_id   uuid        not null,
    period      tstzrange   not null, -- of this and no other letter
    claimed_at  timestamptz, -- it goes through another product and may have arrived
    sent_at     timestamptz,
    primary key (org_id, campaign_id, client_id),
    foreign key (org_id, campaign_id) references scheduling.campaigns (org_id, id) on delete cascade,
    foreign key (org_id, client_id) references scheduling.clients (org_id, id) on delete cascade,
    constraint campaign_letters_one_a_period exclude using gist (client_id with =, period with &&)
);
create index campaign_letters_waiting on scheduling.campaign_letters (org_id, campaign_id, client_id) where sent_at is null;

-- Since when a client has not come; infinity for one who is about to.
-- +goose StatementBegin
create function scheduling.inactive_since(org uuid, client uuid, created timestamptz, now timestamptz) returns timestamptz language sql stable as $$
    select case when bool_or(a.status in ('scheduled', 'confirmed') and a.start_at > now) then 'infinity'
                else coalesce(max(a.start_at) filter (where a.status = 'completed'), created) end
    from scheduling.appointments a where a.org_id = org and a.client_id = client
$$;
-- +goose StatementEnd
