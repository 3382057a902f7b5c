-- +goose NO TRANSACTION
-- Tickets that are due to be closed are found by when they are due: whether the company wrote
-- last stands in the ticket, instead of being looked up for each old ticket in each run.
-- +goose Up
alter table messaging.tickets add column if not exists awaits_contact boolean not null default false; -- people or programs of the company wrote last
-- +goose StatementBegin
do $$
declare
    last bigint := 0;
    ids  bigint[];
begin
    loop
        select array_agg(id), max(id) into ids, last from (select id from messaging.tickets where id > last and status = 'open' order by id limit 1000) a;
        exit when ids is null;
        update messaging.tickets t set awaits_contact = true where t.id = any(ids) and not t.awaits_contact
            and (select m.from_me and m.origin <> 'bot' from messaging.messages m where m.company_id = t.company_id and m.ticket_id = t.id and not m.is_private order by m.seq desc limit 1);
        commit;
    end loop;
end
$$;
-- +goose StatementEnd
create index concurrently if not exists tickets_expiring on messaging.tickets (company_id, connection_id, updated_at) where chatbot and status in ('open', 'pending') or awaits_contact and status = 'open';
drop index concurrently if exists messaging.tickets_inactive;
