-- Imports of contacts that are too large to be answered at once. Rows wait in encrypted
-- batches; a batch is deleted in the transaction that imports it.
-- +goose Up
create table messaging.contact_imports (
    company_id  bigint      not null references messaging.companies (id) on delete cascade,
    id          bigint      generated always as identity unique,
    status      text        not null default 'pending' check (status in ('pending', 'running', 'done', 'failed')),
    list_id     bigint,     -- contact list that gets the contacts
    total       int         not null,
    created     int         not null default 0,
    updated     int         not null default 0,
    skipped     int         not null default 0,
    failed      int         not null default 0,
    errors      jsonb       not null default '[]', -- the first thousand
    warnings    jsonb       not null default '[]', -- the first thousand
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    finished_at timestamptz,
    primary key (company_id, id),
    foreign key (company_id, list_id) references messaging.contact_lists (company_id, id) on delete set null (list_id)
);
create index contact_imports_list on messaging.contact_imports (company_id, list_id);

create table messaging.contact_import_batches (
    company_id bigint not null,
    import_id  bigint not null,
    n          int    not null,
    content    bytea  not null, -- sealed
    primary key (company_id, import_id, n),
    foreign key (company_id, import_id) references messaging.contact_imports (company_id, id) on delete cascade
);
