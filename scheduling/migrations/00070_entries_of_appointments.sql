-- +goose NO TRANSACTION
-- What an appointment earned is found by it.
-- +goose Up
-- An attempt that was broken off leaves an index that is not used.
drop index concurrently if exists scheduling.loyalty_entries_appointment;
create index concurrently loyalty_entries_appointment on scheduling.loyalty_entries (org_id, appointment_id) where appointment_id is not null;
