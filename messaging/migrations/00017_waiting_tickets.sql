-- +goose NO TRANSACTION
-- Tickets that wait for too long are found without reading all of a company's.
-- +goose Up
create index concurrently if not exists tickets_waiting on messaging.tickets (company_id, connection_id, queued_at) where status = 'pending' and user_id is null;
create index concurrently if not exists tickets_inactive on messaging.tickets (company_id, connection_id, updated_at) where status in ('open', 'pending');
