-- +goose NO TRANSACTION
-- Reports read the rows of their days only.
-- +goose Up
create index concurrently if not exists tickets_created on messaging.tickets (company_id, created_at);
create index concurrently if not exists tickets_started on messaging.tickets (company_id, started_at) where started_at is not null;
create index concurrently if not exists tickets_closed on messaging.tickets (company_id, closed_at) where closed_at is not null;
create index concurrently if not exists contacts_created on messaging.contacts (company_id, created_at);
