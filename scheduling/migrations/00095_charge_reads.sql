-- What is known of charges and refunds that the provider could not be asked for, and which
-- deposits have no deadline any more. New columns only: nothing is rewritten.
-- +goose Up
alter table scheduling.charges
    add column unread_since timestamptz,                -- of the first failed read since the last successful one; null: none failed
    add column failed_reads integer not null default 0, -- since then; calls that were not made do not count
    add column unpaid_at    timestamptz;                -- since when the charge counts as unpaid, once it was due; null: it may be paid
alter table scheduling.refunds add column provider_missing_since timestamptz; -- its provider is not the configured one; null: it is
alter table scheduling.appointments add column deposit_left_to_staff boolean not null default false; -- a pending deposit has no deadline: staff decide

-- Until now this was said by a deadline at the start. appointments_unpaid_holds finds the few rows.
update scheduling.appointments a set deposit_left_to_staff = true
where a.deposit_status = 'pending' and a.status = 'scheduled' and a.hold_until >= a.start_at
and not exists (select from scheduling.payments p where p.org_id = a.org_id and p.appointment_id = a.id
    and p.kind = 'deposit' and p.method = 'pix' and p.status = 'pending');
-- Charges that the job ended before and only has yet to cancel.
update scheduling.charges c set unpaid_at = p.updated_at from scheduling.payments p
where p.org_id = c.org_id and p.id = c.payment_id and c.due_at is not null and p.status in ('expired', 'failed');
