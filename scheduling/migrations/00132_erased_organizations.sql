-- Ledgers that are only appended to go with their organization.
-- +goose Up
-- +goose StatementBegin
create or replace function scheduling.refuse_change() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and current_setting('hub.erases_tenant', true) = 'on' then
        return null;
    end if;
    raise exception '% is append-only', tg_table_name using errcode = 'HB002';
end $$;
-- +goose StatementEnd
