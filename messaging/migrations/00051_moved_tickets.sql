-- Who does not see a ticket any more learns that it has moved: a change of its owner or queue has
-- a row of its own, with what was before.
-- +goose Up
alter table messaging.changes
    add column is_move          boolean not null default false,
    add column earlier_user_id  bigint,
    add column earlier_queue_id bigint;

-- +goose StatementBegin
create function messaging.record_ticket_move() returns trigger language plpgsql as $$
begin
    insert into messaging.changes (company_id, kind, action, item_id, is_move, earlier_user_id, earlier_queue_id)
    values (new.company_id, 'ticket', 'update', new.id::text, true, old.user_id, old.queue_id);
    return null;
end
$$;
-- +goose StatementEnd
create trigger record_moves after update on messaging.tickets for each row
    when ((old.user_id, old.queue_id) is distinct from (new.user_id, new.queue_id)) execute function messaging.record_ticket_move();
