-- +goose NO TRANSACTION
-- The payments of a clinic with a status, the longest due first.
-- +goose Up
drop index concurrently if exists clinic.payments_status;
create index concurrently payments_status on clinic.payments (clinic_id, env, status, due_date, id);
