-- +goose NO TRANSACTION
-- A month's payments, and a client's, by when they were paid, or asked for.
-- +goose Up
drop index concurrently if exists scheduling.payments_month; -- of an attempt that was broken off
create index concurrently payments_month on scheduling.payments (org_id, (coalesce(paid_at, created_at)) desc, id);
drop index concurrently if exists scheduling.payments_created_at;
drop index concurrently if exists scheduling.payments_of_client;
create index concurrently payments_of_client on scheduling.payments (org_id, client_id, (coalesce(paid_at, created_at)) desc, id);
drop index concurrently if exists scheduling.payments_client;
