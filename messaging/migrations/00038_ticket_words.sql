-- The words of each ticket's messages. A search reads them in the order of an index and can
-- stop: an index of the messages themselves returns every message with a common word.
-- Triggers write them, so that no change is forgotten. No row refers to its ticket: a
-- check for each word would cost more than the word, and words go with the messages.
-- +goose Up
-- What texts and searches are compared in: lower case, without accents.
create or replace function messaging.search_form(text) returns text language sql immutable parallel safe as $$
    select case when octet_length($1) = length($1) then lower($1) else regexp_replace(normalize(lower($1), NFD), '[\u0300-\u036f]', '', 'g') end
$$;

-- The different words of a text, cut at 40 characters.
create function messaging.words_in(body text) returns setof text language sql immutable parallel safe as $$
    select distinct left(word, 40) from regexp_split_to_table(messaging.search_form(left(body, 4096)), '[^[:alnum:]]+') word where word <> ''
$$;

create table messaging.ticket_words (
    company_id bigint           not null,
    ticket_id  bigint           not null,
    word       text collate "C" not null,
    primary key (company_id, ticket_id, word)
) with (autovacuum_vacuum_insert_scale_factor = 0.02); -- only vacuumed pages are searched in the index alone

-- +goose StatementBegin
create function messaging.add_ticket_words() returns trigger language plpgsql as $$
begin
    insert into messaging.ticket_words (company_id, ticket_id, word)
    select distinct n.company_id, n.ticket_id, word from new_rows n, messaging.words_in(n.body) word where n.ticket_id is not null
    on conflict do nothing;
    return null;
end
$$;
-- +goose StatementEnd

-- The words of tickets are collected anew. Those who add messages hold the ticket.
-- +goose StatementBegin
create function messaging.collect_ticket_words(companies bigint[], tickets bigint[]) returns void language plpgsql as $$
begin
    perform from messaging.tickets t join unnest(companies, tickets) a (company_id, id) using (company_id, id) order by t.id for no key update of t;
    delete from messaging.ticket_words w using unnest(companies, tickets) a (company_id, id) where w.company_id = a.company_id and w.ticket_id = a.id;
    insert into messaging.ticket_words (company_id, ticket_id, word)
    select distinct m.company_id, m.ticket_id, word
    from unnest(companies, tickets) a (company_id, id) join messaging.messages m on m.company_id = a.company_id and m.ticket_id = a.id, messaging.words_in(m.body) word
    on conflict do nothing;
end
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create function messaging.change_ticket_words() returns trigger language plpgsql as $$
declare
    companies bigint[];
    tickets   bigint[];
begin
    if tg_op = 'DELETE' then
        select array_agg(company_id), array_agg(ticket_id) into companies, tickets
        from (select distinct company_id, ticket_id from old_rows where ticket_id is not null) a;
    else
        select array_agg(company_id), array_agg(ticket_id) into companies, tickets from (
            select distinct n.company_id, t.ticket_id from new_rows n join old_rows o using (company_id, id), unnest(array[n.ticket_id, o.ticket_id]) t (ticket_id)
            where (n.body <> o.body or n.ticket_id is distinct from o.ticket_id) and t.ticket_id is not null) a;
    end if;
    if companies is not null then
        perform messaging.collect_ticket_words(companies, tickets);
    end if;
    return null;
end
$$;
-- +goose StatementEnd

create trigger index_inserts after insert on messaging.messages referencing new table as new_rows for each statement execute function messaging.add_ticket_words();
create trigger index_updates after update on messaging.messages referencing new table as new_rows old table as old_rows for each statement execute function messaging.change_ticket_words();
create trigger index_deletes after delete on messaging.messages referencing old table as old_rows for each statement execute function messaging.change_ticket_words();
