-- +goose NO TRANSACTION
-- The words of the messages that were stored before, 1,000 tickets at a time. Messages can be
-- written and erased meanwhile. The functions words_of and word_query stay: processes that
-- were started before use them.
-- +goose Up
-- +goose StatementBegin
do $$
declare
    last      bigint := 0;
    companies bigint[];
    tickets   bigint[];
begin
    loop
        select array_agg(company_id), array_agg(id), max(id) into companies, tickets, last
        from (select company_id, id from messaging.tickets where id > last order by id limit 1000) a;
        exit when companies is null;
        perform messaging.collect_ticket_words(companies, tickets);
        commit;
    end loop;
end
$$;
-- +goose StatementEnd
create index concurrently if not exists ticket_words_word on messaging.ticket_words (company_id, word, ticket_id);
drop index concurrently if exists messaging.messages_words;
