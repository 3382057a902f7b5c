-- +goose NO TRANSACTION
-- What searches of patients are found by, where a clinic has a hundred thousand. Each
-- index begins with whose data it is, so that no clinic's search reads another's.
-- +goose Up
-- The words of a name, each behind its clinic: found by how they begin.
create or replace function clinic.name_words(clinic uuid, env text, name_search text) returns tsvector language sql immutable parallel safe as $$
    select array_to_tsvector(array(
        select left(env, 1) || clinic::text || word from regexp_split_to_table(name_search, '[^[:alnum:]]+') word where word <> ''))
$$;

-- Every word of a search begins one of the name. Null where it has none.
create or replace function clinic.name_query(clinic uuid, env text, term text) returns tsquery language sql immutable parallel safe as $$
    select string_agg('''' || left(env, 1) || clinic::text || word || ''':*', ' & ')::tsquery
    from regexp_split_to_table(clinic.search_form(term), '[^[:alnum:]]+') word where word <> ''
$$;

create index concurrently if not exists patients_words on clinic.patients using gin (clinic.name_words(clinic_id, env, name_search))
    with (fastupdate = off); -- searches would read what gathers
-- A number by how it begins, and by how it ends: people leave out the country or the area.
create index concurrently if not exists patients_phone_begin on clinic.patients (clinic_id, env, phone text_pattern_ops);
create index concurrently if not exists patients_phone_end on clinic.patients (clinic_id, env, reverse(phone) text_pattern_ops);
create index concurrently if not exists patients_email_begin on clinic.patients (clinic_id, env, lower(email) text_pattern_ops);
drop index concurrently if exists clinic.patients_email; -- begins nothing with a language's order
-- Whose number it is, whatever the clinic: operators look for people.
create index concurrently if not exists linked_phones_anywhere on clinic.linked_phones (phone_key);
