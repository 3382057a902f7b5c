-- +goose NO TRANSACTION
-- Due messages are claimed company by company, many at a time.
-- +goose Up
create index concurrently if not exists schedules_due_of_company on messaging.schedules (company_id, send_at, id) where status = 'pending';
