-- +goose NO TRANSACTION
-- The outbox is drained connection by connection: messages of people first.
-- +goose Up
alter table messaging.outbox add column if not exists is_urgent boolean not null default false; -- of a person, or before such a message in its chat
alter table messaging.outbox add column if not exists closes_ticket boolean not null default false; -- once it is sent
create index concurrently if not exists outbox_connection on messaging.outbox (company_id, connection_id, is_urgent desc, due_at, seq);
create index concurrently if not exists connections_unreachable on messaging.connections (updated_at) where status = 'TIMEOUT';
