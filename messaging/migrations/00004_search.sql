-- Tickets are found by any part of the contact's name or number, and by the words of their
-- messages.
-- +goose Up
-- What texts and searches are compared in: lower case, without accents.
create or replace function messaging.search_form(text) returns text language sql immutable parallel safe as $$
    select regexp_replace(normalize(lower($1), NFD), '[\u0300-\u036f]', '', 'g')
$$;

-- The words of a text, each behind its company: no company's search reads another's.
create or replace function messaging.words_of(company bigint, body text) returns tsvector language sql immutable parallel safe as $$
    select array_to_tsvector(array(
        select distinct company::text || ':' || left(word, 40) from regexp_split_to_table(messaging.search_form(left(body, 4096)), '[^[:alnum:]]+') word where word <> ''))
$$;

-- Every word of a search begins one of the text. Null where the search has none.
create or replace function messaging.word_query(company bigint, term text) returns tsquery language sql immutable parallel safe as $$
    select string_agg('''' || company::text || ':' || left(word, 40) || ''':*', ' & ')::tsquery
    from regexp_split_to_table(messaging.search_form(term), '[^[:alnum:]]+') word where word <> ''
$$;

create index messages_words on messaging.messages using gin (messaging.words_of(company_id, body));

-- The extension may stand in another product's schema, which is not in this one's path.
-- +goose StatementBegin
do $$
declare place text;
begin
    create extension if not exists pg_trgm with schema public;
    select n.nspname into place from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm';
    execute format('create index contacts_search on messaging.contacts using gin (messaging.search_form(name) %1$I.gin_trgm_ops, number %1$I.gin_trgm_ops)', place);
end
$$;
-- +goose StatementEnd
