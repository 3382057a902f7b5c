-- Whole months are read from indexes alone.
-- +goose Up
-- As before, and with the id: what is being moved does not stand in its own way.
create index appointments_taken on scheduling.appointments (org_id, professional_id, start_at) include (end_at, service_id, id)
    where status in ('scheduled', 'confirmed', 'completed');
drop index scheduling.appointments_busy;
-- What a dashboard counts.
create index appointments_counted on scheduling.appointments (org_id, start_at) include (status, professional_id);
-- What was taken in, in a stretch of time.
create index payments_takings on scheduling.payments (org_id, paid_at) include (amount_cents, refunded_cents, appointment_id)
    where status in ('paid', 'refunded');
