-- +goose Up
-- Products whose connection had ended before a deletion request, after they may have received
-- the patient: no event is sent to them, and a user has to inform them.
alter table clinic.deletion_peers add column disconnected_at timestamptz; -- null: it was connected
