-- Tags mark contacts and tickets.
-- +goose Up
create table messaging.tags (
    company_id bigint      not null references messaging.companies (id) on delete cascade,
    id         bigint      generated always as identity unique,
    name       text        not null check (char_length(name) between 1 and 60),
    color      text        not null default '#A4CCCC' check (color ~* '^#([0-9a-f]{3}|[0-9a-f]{6})$'),
    kanban     int         not null default 0 check (kanban between 0 and 1000), -- column of a board; 0: none
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (company_id, id)
);
create unique index tags_name on messaging.tags (company_id, lower(name));

create table messaging.contact_tags (
    company_id bigint not null,
    contact_id bigint not null,
    tag_id     bigint not null,
    primary key (company_id, contact_id, tag_id),
    foreign key (company_id, contact_id) references messaging.contacts (company_id, id) on delete cascade,
    foreign key (company_id, tag_id) references messaging.tags (company_id, id) on delete cascade
);
create index contact_tags_tag on messaging.contact_tags (company_id, tag_id, contact_id);

create table messaging.ticket_tags (
    company_id bigint not null,
    ticket_id  bigint not null,
    tag_id     bigint not null,
    primary key (company_id, ticket_id, tag_id),
    foreign key (company_id, ticket_id) references messaging.tickets (company_id, id) on delete cascade,
    foreign key (company_id, tag_id) references messaging.tags (company_id, id) on delete cascade
);
create index ticket_tags_tag on messaging.ticket_tags (company_id, tag_id, ticket_id);

-- A contact that the network names by an id of its own, and a contact without its number
-- after its data was erased.
alter table messaging.contacts add column if not exists lid text;
alter table messaging.contacts drop constraint contacts_number_check;
alter table messaging.contacts add constraint contacts_number_check check (number ~ '^[1-9][0-9]{7,14}$' or number = '' and anonymized_at is not null) not valid;
alter table messaging.contacts validate constraint contacts_number_check;
