-- What changed in the last hour, for inboxes that are open in browsers. Triggers write it,
-- so that no change is forgotten. Readers number the committed rows (seq): numbers taken
-- while writing would become visible out of order. The table is not durable: after a crash
-- of PostgreSQL readers begin anew.
-- +goose Up
create unlogged table messaging.changes (
    id         bigint      generated always as identity primary key,
    company_id bigint      not null,
    kind       text        not null check (kind in ('ticket', 'message', 'ack', 'contact', 'connection', 'campaign')),
    action     text        not null check (action in ('create', 'update', 'delete')),
    item_id    text        not null,
    ticket_id  bigint,     -- of messages
    seq        bigint,     -- null: not numbered yet
    at         timestamptz not null default now()
);
create index changes_new on messaging.changes (company_id, id) where seq is null;
create index changes_seq on messaging.changes (company_id, seq) where seq is not null;
create index changes_expiry on messaging.changes (at);

create table messaging.change_cursors (
    company_id bigint primary key references messaging.companies (id) on delete cascade,
    seq        bigint not null
);

-- A login of a browser's event stream, good for one use: browsers send no headers with it.
create table messaging.stream_tickets (
    hash       bytea       primary key,
    user_uid   uuid        not null references messaging.users (uid) on delete cascade,
    expires_at timestamptz not null
);
create index stream_tickets_expiry on messaging.stream_tickets (expires_at);

-- +goose StatementBegin
create function messaging.record_changes() returns trigger language plpgsql as $$
begin
    case tg_table_name || ' ' || tg_op
    when 'messages INSERT' then
        insert into messaging.changes (company_id, kind, action, item_id, ticket_id) select company_id, 'message', 'create', id, ticket_id from new_rows order by seq;
    when 'messages UPDATE' then
        insert into messaging.changes (company_id, kind, action, item_id, ticket_id)
        select n.company_id, case when n.ack <> o.ack then 'ack' else 'message' end, 'update', n.id, n.ticket_id
        from new_rows n join old_rows o using (company_id, id) order by n.seq;
    when 'tickets DELETE', 'contacts DELETE', 'connections DELETE' then
        insert into messaging.changes (company_id, kind, action, item_id) select company_id, tg_argv[0], 'delete', id::text from old_rows order by id;
    when 'tickets INSERT', 'contacts INSERT', 'connections INSERT' then
        insert into messaging.changes (company_id, kind, action, item_id) select company_id, tg_argv[0], 'create', id::text from new_rows order by id;
    when 'contacts UPDATE' then -- when somebody wrote is no change of the contact
        insert into messaging.changes (company_id, kind, action, item_id) select n.company_id, 'contact', 'update', n.id::text
        from new_rows n join old_rows o using (company_id, id)
        where to_jsonb(n) - 'last_inbound_at' - 'updated_at' <> to_jsonb(o) - 'last_inbound_at' - 'updated_at' order by n.id;
    when 'tickets UPDATE', 'connections UPDATE' then
        insert into messaging.changes (company_id, kind, action, item_id) select company_id, tg_argv[0], 'update', id::text from new_rows order by id;
    end case;
    return null;
end
$$;
-- +goose StatementEnd

create trigger record_inserts after insert on messaging.messages referencing new table as new_rows for each statement execute function messaging.record_changes();
create trigger record_updates after update on messaging.messages referencing new table as new_rows old table as old_rows for each statement execute function messaging.record_changes();
create trigger record_inserts after insert on messaging.tickets referencing new table as new_rows for each statement execute function messaging.record_changes('ticket');
create trigger record_updates after update on messaging.tickets referencing new table as new_rows for each statement execute function messaging.record_changes('ticket');
create trigger record_deletes after delete on messaging.tickets referencing old table as old_rows for each statement execute function messaging.record_changes('ticket');
create trigger record_inserts after insert on messaging.contacts referencing new table as new_rows for each statement execute function messaging.record_changes('contact');
create trigger record_updates after update on messaging.contacts referencing new table as new_rows old table as old_rows for each statement execute function messaging.record_changes('contact');
create trigger record_deletes after delete on messaging.contacts referencing old table as old_rows for each statement execute function messaging.record_changes('contact');
create trigger record_inserts after insert on messaging.connections referencing new table as new_rows for each statement execute function messaging.record_changes('connection');
create trigger record_updates after update on messaging.connections referencing new table as new_rows for each statement execute function messaging.record_changes('connection');
create trigger record_deletes after delete on messaging.connections referencing old table as old_rows for each statement execute function messaging.record_changes('connection');
