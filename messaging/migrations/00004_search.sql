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
create index contacts_search on messaging.contacts using gin (messaging.search_form(name) gin_trgm_ops, number gin_trgm_ops);
