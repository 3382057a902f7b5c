-- +goose NO TRANSACTION
-- Notes were the last messages of tickets, which webhooks carry. Where the newest message is a note,
-- the last message is that before the notes.
-- +goose Up
-- +goose StatementBegin
do $$
declare
    last bigint := 0;
    ids  bigint[];
begin
    loop
        select array_agg(id), max(id) into ids, last from (select id from messaging.tickets where id > last and last_message <> '' order by id limit 1000) a;
        exit when ids is null;
        update messaging.tickets t set last_message = coalesce((select left(coalesce(nullif(m.body, ''), m.media_name, ''), 255) from messaging.messages m
                where m.company_id = t.company_id and m.ticket_id = t.id and not m.is_private order by m.seq desc limit 1), '')
            where t.id = any(ids)
            and (select m.is_private from messaging.messages m where m.company_id = t.company_id and m.ticket_id = t.id order by m.seq desc limit 1);
        commit;
    end loop;
end
$$;
-- +goose StatementEnd
