-- Products index texts by trigrams. The extension stands where every product's path finds
-- it, whichever product asked for it first.
-- +goose Up
-- +goose StatementBegin
do $$
begin
    create extension if not exists pg_trgm with schema public;
    if (select extnamespace from pg_extension where extname = 'pg_trgm') <> 'public'::regnamespace then
        alter extension pg_trgm set schema public; -- a change of the catalog: indexes stay
    end if;
end
$$;
-- +goose StatementEnd
