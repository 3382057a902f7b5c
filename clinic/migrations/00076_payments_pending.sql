-- Payments become overdue clinic by clinic, by each one's own date.
-- +goose NO TRANSACTION
-- +goose Up
drop index concurrently if exists clinic.payments_pending;
create index concurrently payments_pending on clinic.payments (clinic_id, env, due_date, id) where status = 'pending' and overdue_notified_at is null;
drop index concurrently if exists clinic.payments_due;
