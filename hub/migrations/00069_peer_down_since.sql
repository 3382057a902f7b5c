-- Since when an integration is in error: the reason why a delivery waits has it.
-- +goose Up
alter table hub.integrations add column error_at timestamptz;
update hub.integrations set error_at = updated_at where status = 'error';

-- +goose StatementBegin
create or replace function hub.note_inactive() returns trigger language plpgsql as $$
begin
    if new.status <> 'inactive' then
        new.inactive_at := null;
        new.abandoned_at := null;
    elsif tg_op = 'INSERT' or old.status <> 'inactive' then
        new.inactive_at := now();
    end if;
    if new.status <> 'error' then
        new.error_at := null;
    elsif tg_op = 'INSERT' or old.status <> 'error' then
        new.error_at := now();
    end if;
    return new;
end $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function hub.note_inactive() returns trigger language plpgsql as $$
begin
    if new.status <> 'inactive' then
        new.inactive_at := null;
        new.abandoned_at := null;
    elsif tg_op = 'INSERT' or old.status <> 'inactive' then
        new.inactive_at := now();
    end if;
    return new;
end $$;
-- +goose StatementEnd
alter table hub.integrations drop column error_at;
