-- Which contacts the connected products know: they get messages and new tickets of those only.
-- +goose Up
create table messaging.contact_links (
    company_id     bigint      not null,
    contact_id     bigint      not null,
    integration_id uuid        not null,
    is_linked      boolean,    -- the product's search finds the number; null: not known
    checked_at     timestamptz, -- when the product answered that
    attempted_at   timestamptz, -- when it was last asked
    wanted_at      timestamptz, -- since when events wait for the answer; null: none do
    is_bulk        boolean     not null default true, -- only campaigns and programs wait
    primary key (company_id, contact_id, integration_id),
    foreign key (company_id, contact_id) references messaging.contacts (company_id, id) on delete cascade
);
create index contact_links_wanted on messaging.contact_links (company_id, integration_id, is_bulk, wanted_at) where wanted_at is not null;
create index contact_links_attempts on messaging.contact_links (company_id, integration_id, attempted_at);

-- Events that wait until it is known whether their contact is linked.
create table messaging.held_events (
    company_id     bigint      not null,
    id             bigint      generated always as identity unique,
    contact_id     bigint      not null,
    integration_id uuid        not null,
    event_type     text        not null,
    data           jsonb       not null,
    occurred_at    timestamptz not null,
    primary key (company_id, id),
    foreign key (company_id, contact_id, integration_id) references messaging.contact_links (company_id, contact_id, integration_id) on delete cascade
);
create index held_events_link on messaging.held_events (company_id, contact_id, integration_id, id);
create index held_events_age on messaging.held_events (occurred_at);

-- Products that are not asked until a time: they limit their rate, or do not answer.
create table messaging.link_pauses (
    company_id     bigint      not null references messaging.companies (id) on delete cascade,
    integration_id uuid        not null,
    until          timestamptz not null,
    failures       int         not null,
    primary key (company_id, integration_id)
);
