-- Texts that users send often, and lists of contacts for campaigns.
-- +goose Up
create table messaging.quick_messages (
    company_id bigint      not null references messaging.companies (id) on delete cascade,
    id         bigint      generated always as identity unique,
    user_id    bigint,     -- owner; null: was deleted
    shortcode  text        not null check (char_length(shortcode) between 1 and 60),
    message    text        not null check (char_length(message) between 1 and 4096),
    shared     boolean     not null default true, -- every user of the company reads it
    media_url  text,
    media_name text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (company_id, id),
    foreign key (company_id, user_id) references messaging.users (company_id, id) on delete set null (user_id)
);
create index quick_messages_user on messaging.quick_messages (company_id, user_id);

create table messaging.contact_lists (
    company_id bigint      not null references messaging.companies (id) on delete cascade,
    id         bigint      generated always as identity unique,
    name       text        not null check (char_length(name) between 1 and 120),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (company_id, id)
);
create unique index contact_lists_name on messaging.contact_lists (company_id, lower(name));

create table messaging.contact_list_items (
    company_id bigint not null,
    list_id    bigint not null,
    contact_id bigint not null,
    primary key (company_id, list_id, contact_id),
    foreign key (company_id, list_id) references messaging.contact_lists (company_id, id) on delete cascade,
    foreign key (company_id, contact_id) references messaging.contacts (company_id, id) on delete cascade
);
create index contact_list_items_contact on messaging.contact_list_items (company_id, contact_id);
