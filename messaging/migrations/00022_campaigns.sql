-- Campaigns: messages to many contacts, each of them once.
-- +goose Up
create table messaging.campaigns (
    company_id            bigint      not null references messaging.companies (id) on delete cascade,
    id                    bigint      generated always as identity unique,
    name                  text        not null check (char_length(name) between 3 and 120),
    status                text        not null default 'draft' check (status in ('draft', 'scheduled', 'running', 'finished', 'cancelled')),
    messages              text[]      not null check (cardinality(messages) = 5), -- '': none
    confirmation          boolean     not null default false,
    confirmation_messages text[]      not null check (cardinality(confirmation_messages) = 5),
    media_id              text,
    scheduled_at          timestamptz,
    started_at            timestamptz,
    completed_at          timestamptz,
    connection_id         bigint,     -- null: it was deleted
    contact_list_id       bigint,
    tag_ids               bigint[]    not null default '{}',
    message_interval      int         not null default 20 check (message_interval between 0 and 86400), -- seconds
    longer_interval_after int         not null default 20 check (longer_interval_after between 0 and 1000000), -- messages; 0: never
    greater_interval      int         not null default 60 check (greater_interval between 0 and 86400), -- seconds
    send_window           jsonb,      -- null: always
    created_at            timestamptz not null default now(),
    updated_at            timestamptz not null default now(),
    primary key (company_id, id),
    check (status <> 'scheduled' or scheduled_at is not null),
    foreign key (company_id, connection_id) references messaging.connections (company_id, id) on delete set null (connection_id),
    foreign key (company_id, contact_list_id) references messaging.contact_lists (company_id, id) on delete set null (contact_list_id),
    foreign key (company_id, media_id) references messaging.media_files (company_id, id)
);
create index campaigns_connection on messaging.campaigns (company_id, connection_id);
create index campaigns_list on messaging.campaigns (company_id, contact_list_id);
create index campaigns_media on messaging.campaigns (company_id, media_id);
create index campaigns_scheduled on messaging.campaigns (scheduled_at) where status = 'scheduled';

-- How far a campaign is. A trigger counts its shipments.
create table messaging.campaign_progress (
    company_id   bigint not null,
    campaign_id  bigint not null,
    dispatched   int    not null default 0, -- messages written since the first start
    next_send_at timestamptz, -- null: it does not run
    total        int    not null default 0,
    pending      int    not null default 0,
    sent         int    not null default 0, -- delivered and read ones included
    delivered    int    not null default 0, -- read ones included
    read         int    not null default 0,
    failed       int    not null default 0,
    skipped      int    not null default 0,
    primary key (company_id, campaign_id),
    foreign key (company_id, campaign_id) references messaging.campaigns (company_id, id) on delete cascade
);
create index campaign_progress_due on messaging.campaign_progress (next_send_at) where next_send_at is not null;

-- A contact of a campaign. The key makes each contact get it once.
create table messaging.campaign_shipments (
    company_id      bigint      not null,
    campaign_id     bigint      not null,
    contact_id      bigint      not null,
    seq             bigint      not null generated always as identity, -- order of sending
    number          text        not null default '', -- that it was sent to
    message         text        not null default '', -- that was sent
    status          text        not null default 'pending' check (status in ('pending', 'confirming', 'confirmed', 'queued', 'sent', 'delivered', 'read', 'failed', 'skipped')),
    confirmation_id text,       -- message that asks the contact
    message_id      text,
    error           text,       -- code
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now(),
    primary key (company_id, campaign_id, contact_id),
    foreign key (company_id, campaign_id) references messaging.campaigns (company_id, id) on delete cascade,
    foreign key (company_id, contact_id) references messaging.contacts (company_id, id) on delete cascade
);
create index campaign_shipments_next on messaging.campaign_shipments (company_id, campaign_id, seq) where status in ('pending', 'confirmed');
create index campaign_shipments_list on messaging.campaign_shipments (company_id, campaign_id, seq);
create index campaign_shipments_contact on messaging.campaign_shipments (company_id, contact_id);
create index campaign_shipments_confirming on messaging.campaign_shipments (company_id, contact_id) where status = 'confirming';
create unique index campaign_shipments_message on messaging.campaign_shipments (company_id, message_id);
create unique index campaign_shipments_confirmation on messaging.campaign_shipments (company_id, confirmation_id);

-- Messages of campaigns that a connection sent on a day of its company's zone.
create table messaging.campaign_usage (
    company_id    bigint not null,
    connection_id bigint not null,
    day           date   not null,
    sent          int    not null default 0,
    primary key (company_id, connection_id, day),
    foreign key (company_id, connection_id) references messaging.connections (company_id, id) on delete cascade
);

create function messaging.count_shipments(company bigint, campaign bigint, of_status text, n int) returns void language sql as $$
    update messaging.campaign_progress set
        total = total + n,
        pending = pending + case when of_status in ('pending', 'confirming', 'confirmed', 'queued') then n else 0 end,
        sent = sent + case when of_status in ('sent', 'delivered', 'read') then n else 0 end,
        delivered = delivered + case when of_status in ('delivered', 'read') then n else 0 end,
        read = read + case when of_status = 'read' then n else 0 end,
        failed = failed + case when of_status = 'failed' then n else 0 end,
        skipped = skipped + case when of_status = 'skipped' then n else 0 end
    where company_id = company and campaign_id = campaign
$$;

-- +goose StatementBegin
create function messaging.record_shipments() returns trigger language plpgsql as $$
declare
    counted record;
begin
    if tg_op = 'INSERT' then
        for counted in select company_id, campaign_id, status, count(*)::int as n from new_rows group by 1, 2, 3 order by 1, 2, 3 loop
            perform messaging.count_shipments(counted.company_id, counted.campaign_id, counted.status, counted.n);
        end loop;
    elsif tg_op = 'DELETE' then
        for counted in select company_id, campaign_id, status, count(*)::int as n from old_rows group by 1, 2, 3 order by 1, 2, 3 loop
            perform messaging.count_shipments(counted.company_id, counted.campaign_id, counted.status, -counted.n);
        end loop;
    else
        for counted in
            select company_id, campaign_id, status, sum(change)::int as n from (
                select company_id, campaign_id, status, 1 as change from new_rows
                union all select company_id, campaign_id, status, -1 from old_rows) both_rows
            group by 1, 2, 3 having sum(change) <> 0 order by 1, 2, 3
        loop
            perform messaging.count_shipments(counted.company_id, counted.campaign_id, counted.status, counted.n);
        end loop;
    end if;
    return null;
end
$$;
-- +goose StatementEnd

create trigger count_inserts after insert on messaging.campaign_shipments referencing new table as new_rows for each statement execute function messaging.record_shipments();
create trigger count_updates after update on messaging.campaign_shipments referencing new table as new_rows old table as old_rows for each statement execute function messaging.record_shipments();
create trigger count_deletes after delete on messaging.campaign_shipments referencing old table as old_rows for each statement execute function messaging.record_shipments();

-- A campaign's message has no ticket until its contact answers.
alter table messaging.messages alter column ticket_id drop not null;

-- +goose StatementBegin
create or replace function messaging.record_changes() returns trigger language plpgsql as $$
begin
    case tg_table_name || ' ' || tg_op
    when 'messages INSERT' then
        insert into messaging.changes (company_id, kind, action, item_id, ticket_id)
        select company_id, 'message', 'create', id, ticket_id from new_rows where ticket_id is not null order by seq;
    when 'messages UPDATE' then
        insert into messaging.changes (company_id, kind, action, item_id, ticket_id)
        select n.company_id, case when n.ack <> o.ack then 'ack' else 'message' end, case when o.ticket_id is null then 'create' else 'update' end, n.id, n.ticket_id
        from new_rows n join old_rows o using (company_id, id) where n.ticket_id is not null order by n.seq;
    when 'tickets DELETE', 'contacts DELETE', 'connections DELETE', 'campaigns DELETE' then
        insert into messaging.changes (company_id, kind, action, item_id) select company_id, tg_argv[0], 'delete', id::text from old_rows order by id;
    when 'tickets INSERT', 'contacts INSERT', 'connections INSERT', 'campaigns INSERT' then
        insert into messaging.changes (company_id, kind, action, item_id) select company_id, tg_argv[0], 'create', id::text from new_rows order by id;
    when 'contacts UPDATE' then -- when somebody wrote is no change of the contact
        insert into messaging.changes (company_id, kind, action, item_id) select n.company_id, 'contact', 'update', n.id::text
        from new_rows n join old_rows o using (company_id, id)
        where to_jsonb(n) - 'last_inbound_at' - 'out_of_hours_at' - 'updated_at' <> to_jsonb(o) - 'last_inbound_at' - 'out_of_hours_at' - 'updated_at' order by n.id;
    when 'tickets UPDATE', 'connections UPDATE', 'campaigns UPDATE' then
        insert into messaging.changes (company_id, kind, action, item_id) select company_id, tg_argv[0], 'update', id::text from new_rows order by id;
    end case;
    return null;
end
$$;
-- +goose StatementEnd

create trigger record_inserts after insert on messaging.campaigns referencing new table as new_rows for each statement execute function messaging.record_changes('campaign');
create trigger record_updates after update on messaging.campaigns referencing new table as new_rows for each statement execute function messaging.record_changes('campaign');
create trigger record_deletes after delete on messaging.campaigns referencing old table as old_rows for each statement execute function messaging.record_changes('campaign');
