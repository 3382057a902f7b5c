-- Money of kind 'other' is beside the price, and paid_cents is what was paid of the price. Until
-- now it counted there. Only the appointments with such money change.
-- +goose Up
update scheduling.appointments a set paid_cents = a.paid_cents - o.kept
from (select org_id, appointment_id, sum(amount_cents - refunded_cents) as kept from scheduling.payments
      where kind = 'other' and paid_at is not null and appointment_id is not null group by org_id, appointment_id) o
where a.org_id = o.org_id and a.id = o.appointment_id and o.kept > 0;
