-- +goose NO TRANSACTION
-- The history of an appointment knows changes of its price, client and notes.
-- +goose Up
alter table scheduling.appointment_history
    add column if not exists from_price_cents bigint,
    add column if not exists to_price_cents   bigint,
    add column if not exists from_client_id   uuid,
    add column if not exists to_client_id     uuid,
    drop constraint if exists appointment_history_action_check,
    add constraint appointment_history_action_check
        check (action in ('create', 'confirm', 'cancel', 'complete', 'noshow', 'reschedule', 'reopen', 'rebook', 'edit')) not valid;
-- Apart, so that nobody waits while the rows are read.
alter table scheduling.appointment_history validate constraint appointment_history_action_check;
